//! A short run of every fuzz target on its seeds and on damaged copies of them.
//!
//! `HYPERSLAB_FUZZ_SECONDS` is the time per target (default 0.5), and `HYPERSLAB_FUZZ_TARGET` the only target to run.
//! `cargo xtask fuzz` runs libFuzzer on the same targets.

use std::panic::{catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use hyperslab_tests::fuzz::memory::{PeakAlloc, peak_of};
use hyperslab_tests::fuzz::{Target, targets};
use hyperslab_tests::hex;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Regression inputs found by fuzzing, by target, with a repeat count.
const FOUND: &[(&str, &str, usize)] = &[
    // A chunk that claims more bytes than gzip can hold. That much memory was allocated.
    (
        "generic-tile",
        "020000007f00000000000000b200007f0000000004010000000000000000120000000000010001000000010500000001\
         010000000100000000000000b200007f5b00000010000000007f000001000000b20000005b0000007801636200030175\
         08cdc0c008840c0c4cac20e23f10608ab08114807015033b030b0b9001525c90939899c70c12864802b5035969066095\
         304318412a1941c682250d1961ea4134c24eb0a41107b224334827334827007ef518e3",
        1,
    ),
    // A duplicate key, of which the last one counts.
    (
        "array-metadata",
        "06000000616e737765720001010000002a00000000ff0000050000000000000000000b00000000040000006c69737400\
         0303000000000000000000f03f000000000000044000000000000008c0050000000000000000000c050000006772c3bc\
         c3",
        1,
    ),
    // A step over much of a domain, which expands to a list of coordinates.
    ("selection", "13022d37393a3932323333373230333737393a3233333732303733", 1),
    // A step refused in one dimension, after one accepted in another. Neither may be expanded.
    ("selection", "13022d323232323234373a343a342c3a343a32", 1),
    // Almost empty lines. The list of them took a hundred times as much memory.
    ("consolidated-commits", "0a", 10_000),
    ("consolidated-commits", "610a", 10_000),
];

/// A small random number generator. It only needs to give the same numbers in every run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap_or(0)
    }
}

/// Truncates, extends and overwrites, preferring bytes that occur in counts and lengths.
fn damage(input: &mut Vec<u8>, chance: &mut Chance) {
    for _ in 0..=chance.below(4) {
        let at = chance.below(input.len() + 1);
        let value = [0, 1, 0x7f, 0x80, 0xff, chance.next() as u8][chance.below(6)];
        match chance.below(8) {
            0 => input.truncate(at),
            1 => input.insert(at, value),
            2 => drop(input.drain(at..(at + 4).min(input.len()))),
            3 => {
                let end = (at + 8).min(input.len());
                input[at..end].fill(value);
            }
            _ => input.iter_mut().skip(at).take(1).for_each(|b| *b = value),
        }
    }
}

fn smoke(target: &Target, time: Duration) -> usize {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let check = |input: &[u8]| {
        if let Err(why) = catch_unwind(|| target.check(input)) {
            eprintln!("{}: {}", target.name, hex::encode(input));
            resume_unwind(why);
        }
    };
    target.seeds.iter().for_each(|seed| check(seed));
    let (started, mut runs) = (Instant::now(), target.seeds.len());
    while started.elapsed() < time {
        let mut input = target.seeds[chance.below(target.seeds.len())].clone();
        damage(&mut input, &mut chance);
        check(&input);
        runs += 1;
    }
    runs
}

#[test]
fn every_decoder_and_every_filter_survives_hostile_bytes() {
    let seconds = std::env::var("HYPERSLAB_FUZZ_SECONDS")
        .ok()
        .and_then(|s| s.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(0.5));
    let (targets, bytes) = peak_of(targets);
    assert!(bytes > 1 << 20, "allocations are counted");
    assert!(targets.len() > 50, "one for each decoder and two for each filter");
    let named = |name: &str| targets.iter().any(|t| t.name == name);
    assert!(
        FOUND.iter().all(|(name, ..)| named(name)),
        "each finding belongs to a target"
    );
    let (mut failed, mut runs) = (Vec::new(), 0);
    let only = std::env::var("HYPERSLAB_FUZZ_TARGET").ok();
    let is_chosen = |target: &&Target| only.as_ref().is_none_or(|name| *name == target.name);
    for target in targets.iter().filter(is_chosen) {
        assert!(!target.seeds.is_empty(), "{}: real inputs", target.name);
        for (_, found, times) in FOUND.iter().filter(|(name, ..)| *name == target.name) {
            target.check(&hex::decode(found).unwrap().repeat(*times));
        }
        match catch_unwind(|| smoke(target, time)) {
            Ok(more) => runs += more,
            Err(_) => failed.push(&target.name),
        }
    }
    println!(
        "fuzz: {} targets, {runs} inputs, {} failed",
        targets.len(),
        failed.len()
    );
    assert!(failed.is_empty(), "{failed:?}");
}
