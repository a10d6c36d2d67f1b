//! Sizes in bytes, read and shown with binary units.

/// The memory of the program itself: its code, its stacks and the index of an array of ordinary size.
pub(crate) const PROGRAM_BYTES: u64 = 24 << 20;

/// Below this budget, commands use a single core. The allocator keeps freed memory for each thread, so with several
/// cores the memory of a command varies (the same export took 52 to 69 MiB on two).
pub(crate) const ALL_CORES_BYTES: u64 = 128 << 20;

const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// Parses `64MiB`, `1.5 GB` or `4096`. K, M, G and T are powers of 1024, with or without the i.
///
/// # Errors
/// The text is not a size.
pub fn parse(text: &str) -> Result<u64, String> {
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
        _ => {
            return Err(format!(
                "'{text}' is not a size; write a number of bytes, or a size such as 512MiB"
            ));
        }
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("'{text}' is not a size; write a number of bytes, or a size such as 512MiB"))?;
    Ok((number * 1024_f64.powi(power)) as u64)
}

/// The saturating sum of numbers from files, which may be damaged.
pub(crate) fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// Formats a size, as in `1.4 MiB`. Sizes below 10 KiB are exact.
pub(crate) fn show(bytes: u64) -> String {
    if bytes < 10 * 1024 {
        return format!("{bytes} B");
    }
    let (size, unit) = unit(bytes);
    format!("{:.1} {unit}", bytes as f64 / size)
}

/// Formats a part of a size in the unit of the whole, as in `0.5/1.4 MiB`.
pub(crate) fn part(bytes: u64, whole: u64) -> String {
    if whole < 10 * 1024 {
        return format!("{bytes}/{whole} B");
    }
    let (size, unit) = unit(whole);
    format!("{:.1}/{:.1} {unit}", bytes as f64 / size, whole as f64 / size)
}

/// The unit of a size, and its bytes.
fn unit(bytes: u64) -> (f64, &'static str) {
    let power = (bytes.max(1).ilog2() / 10).min(4) as usize;
    (1024_f64.powi(power as i32), UNITS.get(power).copied().unwrap_or("B"))
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
        assert_eq!(part(1 << 19, 3 << 19), "0.5/1.5 MiB");
        assert_eq!((part(7, 900), part(0, 0)), ("7/900 B".to_owned(), "0/0 B".to_owned()));
    }
}
