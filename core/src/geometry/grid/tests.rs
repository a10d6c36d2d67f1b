use super::*;
use crate::datatype::Datatype;
use crate::format::schema::ArrayType;

#[test]
fn overflowing_quotients_follow_the_processor() {
    assert_eq!([0.0, 2.9, 1e18].map(counted), [0, 2, 1_000_000_000_000_000_000]);
    assert_eq!(counted(1.5 * TILES_MAX), 3 << 62);
    assert_eq!(counted(f64::NAN), 1 << 63);
    assert_eq!([1e300, f64::INFINITY].map(counted), [0, 0]);
    let wide = Tiling::F64 {
        low: f64::MIN,
        extent: f64::INFINITY,
    };
    assert!(!wide.wraps(&Scalar::F64(f64::MAX)));
    assert!(
        Tiling::F64 {
            low: f64::MIN,
            extent: 1.0
        }
        .wraps(&Scalar::F64(0.0))
    );
}

#[test]
fn tiles_of_many_keys_match_tiles_of_single_keys() {
    let tilings = [
        Tiling::None,
        Tiling::Integer { low: 5, extent: 1 },
        Tiling::Integer {
            low: u64::MAX - 3,
            extent: 7,
        },
        Tiling::Integer {
            low: 2,
            extent: u64::MAX,
        },
        Tiling::F64 {
            low: -3.5,
            extent: 0.25,
        },
    ];
    for tiling in tilings {
        let keys: Vec<u64> = (0..40).chain((0..40).map(|i| u64::MAX - 3 * i)).collect();
        let mut tiles = keys.clone();
        tiling.tiles(&mut tiles);
        assert_eq!(
            tiles,
            keys.iter().map(|&k| tiling.tile(k)).collect::<Vec<_>>(),
            "{tiling:?}"
        );
    }
}

fn grid(dims: Vec<Dimension>) -> Grid {
    Grid::new(&Schema::new(ArrayType::Dense, dims, vec![])).unwrap()
}

#[test]
fn the_grid_starts_at_the_domain_and_the_last_tile_extends_past_it() {
    let g = grid(vec![Dimension::new("x", Datatype::Int32, -10, 13, 7)]);
    let spans = g.spans(&[ScalarRange::new(-4, 13)]).unwrap();
    assert_eq!(spans, [Span { first: 6, last: 23 }]);
    let tiles = g.tiles(&spans);
    assert_eq!(tiles.spans, [Span { first: 0, last: 3 }]);
    assert_eq!(g.tile_spans(&[3]), [Span { first: 21, last: 27 }]);
    assert_eq!(g.ranges(&[Span { first: 0, last: 23 }]), [ScalarRange::new(-10, 13)]);
    assert!(g.spans(&[ScalarRange::new(-11, 0)]).is_err());
    assert!(g.spans(&[ScalarRange::new(3, 2)]).is_err());
}

#[test]
fn tiles_are_numbered_in_tile_order_within_their_box() {
    let dims = || {
        vec![
            Dimension::new("y", Datatype::Uint8, 0_u8, 99_u8, 10_u8),
            Dimension::new("x", Datatype::Uint8, 0_u8, 99_u8, 10_u8),
        ]
    };
    let mut g = grid(dims());
    let spans = g
        .spans(&[ScalarRange::new(10_u8, 29_u8), ScalarRange::new(25_u8, 45_u8)])
        .unwrap();
    let tiles = g.tiles(&spans);
    assert_eq!(
        (tiles.count(), tiles.index(&[2, 3]), tiles.tile(4)),
        (Some(6), Some(4), vec![2, 3])
    );
    assert_eq!(tiles.index(&[0, 3]), None);
    g.tile_order = Order::Col;
    let tiles = g.tiles(&spans);
    assert_eq!((tiles.index(&[2, 3]), tiles.tile(4)), (Some(3), vec![1, 4]));
    for i in 0..6 {
        assert_eq!(tiles.index(&tiles.tile(i)), Some(i));
    }
}

#[test]
fn domains_as_wide_as_their_type_do_not_overflow() {
    let g = grid(vec![Dimension::new(
        "x",
        Datatype::Int64,
        i64::MIN,
        i64::MAX - 10,
        10_i64,
    )]);
    let all = g.domain();
    assert_eq!(g.ranges(&all), [ScalarRange::new(i64::MIN, i64::MAX - 10)]);
    assert_eq!(g.tiles(&all).count(), Some((u64::MAX - 10) / 10 + 1));
    let two = grid(vec![Dimension::new("x", Datatype::Uint64, 0_u64, u64::MAX, 1_u64); 2]);
    assert_eq!(two.tiles(&two.domain()).count(), None);
}

#[test]
fn float_tiles_are_the_floor_of_the_quotient() {
    let t = Tiling::of(&Dimension::new("x", Datatype::Float64, -1.0, 1.0, 0.5));
    let tile = |v: f64| t.tile(v.key().unwrap());
    assert_eq!(
        [tile(-1.0), tile(-0.51), tile(-0.5), tile(0.99), tile(1.0)],
        [0, 0, 1, 3, 4]
    );
}
