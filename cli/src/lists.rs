//! Lists in options: values separated by commas. A value with a comma in it is quoted, as in a CSV.

use crate::errors::invalid;

/// Splits a list into its values. Quotes inside a quoted value are doubled.
///
/// # Errors
/// A quote is never closed.
pub(crate) fn values(list: &str) -> Result<Vec<String>, String> {
    let mut values = vec![String::new()];
    let (mut quoted, mut at_start) = (false, true);
    let mut chars = list.chars().peekable();
    while let Some(c) = chars.next() {
        let value = values.last_mut();
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                value.into_iter().for_each(|v| v.push('"'));
            }
            '"' if quoted || at_start => quoted = !quoted,
            ',' if !quoted => values.push(String::new()),
            c => value.into_iter().for_each(|v| v.push(c)),
        }
        at_start = c == ',' && !quoted;
    }
    if quoted {
        return Err(format!("the quote in '{list}' is never closed"));
    }
    Ok(values)
}

/// Replaces the lists of `option` by their values.
pub(crate) fn split(option: &str, lists: Option<&mut Vec<String>>) -> Result<(), String> {
    let Some(lists) = lists else { return Ok(()) };
    let each = lists.iter().map(|list| values(list));
    let all = each
        .collect::<Result<Vec<_>, _>>()
        .map_err(|why| invalid(option, why))?;
    *lists = all.concat();
    Ok(())
}

/// The same for names, which cannot be empty.
pub(crate) fn split_names(option: &str, mut lists: Option<&mut Vec<String>>) -> Result<(), String> {
    split(option, lists.as_deref_mut())?;
    if lists.is_some_and(|names| names.iter().any(|name| name.trim().is_empty())) {
        let why = "a name in the list is empty; the unnamed attribute is called data";
        return Err(invalid(option, why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quotes_do_not_separate_values() {
        for (list, expect) in [
            ("a,b", &["a", "b"][..]),
            ("\"c,d\",e", &["c,d", "e"]),
            ("\"c,d\"=int8,x=y", &["c,d=int8", "x=y"]),
            ("\"say \"\"hi\"\", he\"", &["say \"hi\", he"]),
            ("5\",6", &["5\"", "6"]),
            (",4", &["", "4"]),
            ("", &[""]),
        ] {
            assert_eq!(values(list).unwrap(), expect, "{list}");
        }
        assert!(values("\"a,b").unwrap_err().contains("never closed"));
        let empty = split_names("--attrs", Some(&mut vec![String::new()]));
        assert!(empty.unwrap_err().contains("--attrs: a name in the list is empty"));
    }
}
