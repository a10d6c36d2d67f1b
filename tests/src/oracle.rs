//! libtiledb in a separate process that answers one request per line (see `interop/serve.py`).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};

use crate::{here, python};

/// A running process with libtiledb.
#[derive(Debug)]
pub struct Oracle {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Oracle {
    /// Starts the process.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start() -> Result<Self> {
        Self::start_with(Vec::new())
    }

    /// Starts the process with additional environment variables, which libtiledb reads settings from.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_with(environment: Vec<(&str, String)>) -> Result<Self> {
        let mut child = Command::new(python())
            .arg(here().join("interop/serve.py"))
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().context("no standard input")?;
        let output = BufReader::new(child.stdout.take().context("no standard output")?);
        Ok(Self { child, input, output })
    }

    /// Sends a request and returns the answer.
    ///
    /// # Errors
    /// The error of libtiledb, or that its process died.
    pub fn ask(&mut self, request: &Value) -> Result<Value> {
        writeln!(self.input, "{request}").context("libtiledb's process has ended")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() {
            bail!("libtiledb died ({:?})", self.child.wait()?);
        }
        let mut answer: Value = serde_json::from_str(&line)?;
        match answer.get_mut("ok") {
            Some(ok) => Ok(ok.take()),
            None => Err(anyhow!("libtiledb: {}", answer["error"])),
        }
    }

    /// Sends a request about the array of a case, with additional fields.
    ///
    /// # Errors
    /// The errors of [`Oracle::ask`].
    pub fn about(&mut self, what: &str, array: &Path, case: &Value, more: &[(&str, &Value)]) -> Result<Value> {
        let mut request = json!({"do": what, "uri": array.to_string_lossy(), "case": case});
        for (key, value) in more {
            request[*key] = (*value).clone();
        }
        self.ask(&request)
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // It may have died already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
