//! libFuzzer over one of the targets of `hyperslab_tests::fuzz`, which the variable `FUZZ_TARGET`
//! names. With `FUZZ_SEEDS`, the name of a folder, it writes the inputs to start from and lists the targets.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use hyperslab_tests::fuzz::memory::PeakAlloc;
use hyperslab_tests::fuzz::{Target, targets};
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names the target");
    let found = targets().into_iter().find(|t| t.name == name);
    found.expect("a target of this name")
});

fn begin() {
    if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
        for target in targets() {
            let place = Path::new(&folder).join(&target.name);
            std::fs::create_dir_all(&place).expect("a folder for seeds");
            for (i, seed) in target.seeds.iter().enumerate() {
                std::fs::write(place.join(i.to_string()), seed).expect("a seed");
            }
            println!("{}", target.name);
        }
        std::process::exit(0);
    }
    LazyLock::force(&TARGET);
}

fuzz_target!(init: begin(), |input: &[u8]| TARGET.check(input));
