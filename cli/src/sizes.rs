//! Sizes in bytes, read and shown with binary units.

/// What the program takes itself: its code, its stacks and the index of an array of ordinary size.
pub(crate) const PROGRAM_BYTES: u64 = 24 << 20;

/// Under this budget one core does all: what each of several frees, the allocator keeps for it alone, and which core
/// does what is left to chance (the same export took 52 to 69 MiB on two).
pub(crate) const ALL_CORES_BYTES: u64 = 128 << 20;

const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// `64MiB`, `1.5 GB`, `4096`. K, M, G, T count by 1024 with or without the i.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let power = match unit
        .trim()
        .to_ascii_lowercase()
        .trim_end_matches('b')
        .trim_end_matches('i')
    {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(format!("'{text}' is no size; write bytes, or 512MiB, 2GiB")),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("'{text}' is no size; write bytes, or 512MiB, 2GiB"))?;
    Ok((number * 1024_f64.powi(power)) as u64)
}

/// The sum of what files say, which may be damaged: no more than a number holds.
pub(crate) fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// `1.4 MiB`; bytes below 10 KiB exactly.
pub(crate) fn show(bytes: u64) -> String {
    if bytes < 10 * 1024 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog2() / 10).min(4) as usize;
    let unit = UNITS.get(power).copied().unwrap_or("B");
    format!("{:.1} {unit}", bytes as f64 / 1024_f64.powi(power as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        assert_eq!(parse("512MiB"), Ok(512 << 20));
        assert_eq!(parse("1.5g"), Ok(3 << 29));
        assert_eq!(parse("4096"), Ok(4096));
        assert!(parse("many").is_err() && parse("3 cats").is_err());
        assert_eq!(show(800), "800 B");
        assert_eq!(show(3 << 19), "1.5 MiB");
    }
}
