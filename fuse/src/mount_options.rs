//! The mount options after `-o`.

use std::ffi::OsString;

use anyhow::{Result, bail};
use clap::CommandFactory as _;
use hyperslab::internals::suggest;

use crate::args::Cli;

/// Generic options of mount(8), some of which may have the prefix `no`, and options that only fstab uses.
const SYSTEM_OPTIONS: &[&str] = &[
    "async",
    "atime",
    "auto",
    "defaults",
    "dev",
    "diratime",
    "dirsync",
    "exec",
    "fail",
    "group",
    "iversion",
    "lazytime",
    "loud",
    "mand",
    "owner",
    "relatime",
    "ro",
    "rw",
    "silent",
    "strictatime",
    "suid",
    "sync",
    "user",
    "users",
    "_netdev",
];
/// Options of FUSE file systems that always hold for this one.
const ALWAYS_ON: &[&str] = &["default_permissions", "subtype=fuse-mount"];
/// Options of the command line that make no sense in fstab.
const NOT_FOR_MOUNT: &[&str] = &["completions", "detached", "help", "lazy", "man", "unmount", "version"];

/// Translates the options into arguments of the program: `ttl=5` into `--ttl=5`, `allow_other` into `--allow-other`.
/// Options for the system are left out.
///
/// # Errors
/// An option is unknown, or has a value although it is a switch, or lacks its value.
pub(crate) fn as_arguments(options: &[String]) -> Result<Vec<OsString>> {
    let all = options.iter().flat_map(|list| split(list));
    let ours = all.filter(|option| !is_of_the_system(option));
    ours.map(|option| argument(&option).map(OsString::from)).collect()
}

fn argument(option: &str) -> Result<String> {
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    let long = name.replace('_', "-");
    let command = Cli::command();
    let for_mount = |a: &&clap::Arg| a.get_long().is_some_and(|l| !NOT_FOR_MOUNT.contains(&l));
    let known: Vec<&clap::Arg> = command.get_arguments().filter(for_mount).collect();
    let matching = |a: &&&clap::Arg| {
        let names = a.get_long_and_visible_aliases();
        names.is_some_and(|all| all.contains(&&*long))
    };
    let Some(argument) = known.iter().find(matching) else {
        let names: Vec<String> = known
            .iter()
            .filter_map(|a| a.get_long())
            .map(|l| l.replace('-', "_"))
            .collect();
        bail!(
            "invalid value for -o: {}, and the generic options of mount(8)",
            suggest::unknown("option", name, &names)
        );
    };
    match (argument.get_action().takes_values(), value) {
        (true, Some(value)) => Ok(format!("--{long}={value}")),
        (false, None) => Ok(format!("--{long}")),
        (true, None) => bail!("invalid value for -o: {name} has no value; write {name}=VALUE"),
        (false, Some(_)) => bail!("invalid value for -o: {name} takes no value; write {name} alone"),
    }
}

/// Splits at commas, except after a backslash. As in libfuse, a backslash quotes the next character, or three octal
/// digits are a character.
fn split(list: &str) -> Vec<String> {
    let mut options = vec![String::new()];
    let mut rest = list.chars();
    while let Some(c) = rest.next() {
        let quoted = match c {
            ',' => {
                options.push(String::new());
                continue;
            }
            '\\' => {
                let digits = rest.as_str().get(..3);
                let octal = digits.and_then(|d| u8::from_str_radix(d, 8).ok()).filter(u8::is_ascii);
                match octal {
                    Some(byte) => {
                        rest = rest.as_str().get(3..).unwrap_or_default().chars();
                        char::from(byte)
                    }
                    None => rest.next().unwrap_or(c),
                }
            }
            c => c,
        };
        if let Some(option) = options.last_mut() {
            option.push(quoted);
        }
    }
    options
}

/// Whether an option is meant for the system. mount(8) passes on all options from fstab.
fn is_of_the_system(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or(option);
    let plain = name.strip_prefix("no").unwrap_or(name);
    // These may have any value: `x-systemd.automount`, `comment=…`, `user=…`.
    let valued = name.starts_with("x-") || name.starts_with("X-") || matches!(name, "comment" | "user");
    let generic = name == option && SYSTEM_OPTIONS.contains(&plain);
    option.is_empty() || valued || generic || ALWAYS_ON.contains(&option)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(options: &str) -> Vec<OsString> {
        as_arguments(&[options.to_owned()]).unwrap()
    }

    #[test]
    fn options_become_arguments() {
        let system = "rw,nosuid,nodev,noatime,user=me,_netdev,nofail,x-systemd.automount,default_permissions,,";
        assert!(translated(system).is_empty());
        assert_eq!(translated("allow_other,at=5"), ["--allow-other", "--at=5"]);
        assert_eq!(translated("allow-other,daemon"), ["--allow-other", "--daemon"]);
        assert_eq!(translated("key_file="), ["--key-file="]);
    }

    #[test]
    fn wrong_options_are_rejected() {
        for (wrong, why) in [
            ("keyfile=x", "did you mean 'key_file'?"),
            ("allow_others", "did you mean 'allow_other'?"),
            ("ro=1", "no option 'ro'"),
            ("unmount", "no option 'unmount'"),
            ("help", "no option 'help'"),
            ("key_file", "write key_file=VALUE"),
            ("allow_other=1", "takes no value"),
        ] {
            let error = as_arguments(&[wrong.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_backslash_quotes_a_comma() {
        assert_eq!(split("a,b=c"), ["a", "b=c"]);
        assert_eq!(split("a\\,b,c\\\\d"), ["a,b", "c\\d"]);
        assert_eq!(split("a\\054b\\040c"), ["a,b c"]);
        assert_eq!(split("a\\"), ["a\\"]);
        assert_eq!(split("\\é9\\99é"), ["é999é"]);
    }
}
