//! Default domains.

/// A round interval around `lo..=hi`: multiples of the power of ten just below its width.
pub(super) fn round_out(lo: f64, hi: f64) -> (f64, f64) {
    let width = if hi > lo { hi - lo } else { lo.abs().max(1.0) };
    let step = 10_f64.powf(width.log10().floor());
    if !step.is_finite() || step == 0.0 {
        return (lo, hi);
    }
    (
        ((lo / step).floor() * step).min(lo),
        ((hi / step).ceil() * step).max(hi),
    )
}

/// The same for integers, within `min..=max`. A domain cannot include every value of its type, so the result omits an
/// end that no cell has.
pub(super) fn round_out_integer(lo: i128, hi: i128, min: i128, max: i128) -> (i128, i128) {
    let width = (hi - lo).max(1);
    let step = 10_i128.pow(width.ilog10());
    let up = |v: i128| v.div_euclid(step) * step + if v.rem_euclid(step) == 0 { 0 } else { step };
    match ((lo.div_euclid(step) * step).clamp(min, lo), up(hi).clamp(hi, max)) {
        (first, last) if (first, last) != (min, max) => (first, last),
        (first, last) if hi < max => (first, last - 1),
        (first, last) => ((first + 1).min(lo), last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_round() {
        assert_eq!(round_out(-179.2, 178.4), (-200.0, 200.0));
        assert_eq!(round_out(0.0, 0.5), (0.0, 0.5));
        assert_eq!(round_out(7.0, 7.0), (7.0, 7.0));
        assert_eq!(round_out_integer(13, 987, i128::MIN, i128::MAX), (0, 1000));
        assert_eq!(round_out_integer(-5, 250, -128, 255), (-100, 255));
        assert_eq!(round_out_integer(20, 230, 0, 255), (0, 254));
        assert_eq!(round_out_integer(20, 255, 0, 255), (1, 255));
        assert_eq!(round_out_integer(0, 255, 0, 255), (0, 255));
    }
}
