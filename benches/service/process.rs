//! Processes under measurement: where they run, what they have spent, what they hold.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// Linux counts processor time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// The core of the servers, and that of everything else.
pub const SERVER_CORE: usize = 0;
pub const OTHER_CORE: usize = 1;

/// Runs a command of a program to its end.
pub fn run(program: &str, command: &str, variables: &[(String, String)]) -> Result<()> {
    let mut run = Command::new(program);
    let variables = variables.iter().map(|(name, value)| (name, value));
    let status = run.arg(command).envs(variables).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "{program} {command}: {status}");
    Ok(())
}

/// Ended when dropped.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts a program on a core and waits until it accepts connections; how long that took.
    pub async fn start(
        core: usize,
        program: &str,
        arguments: &[&str],
        variables: &[(String, String)],
        address: &str,
    ) -> Result<(Self, Duration)> {
        let begun = Instant::now();
        let child = Command::new("taskset")
            .args(["-c", &core.to_string(), program])
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::null())
            .spawn()
            .context("taskset")?;
        let process = Self(child);
        while TcpStream::connect(address).await.is_err() {
            if begun.elapsed() > Duration::from_secs(20) {
                bail!("{program} does not answer at {address}");
            }
            sleep(Duration::from_millis(1)).await;
        }
        Ok((process, begun.elapsed()))
    }

    /// Processor time so far, in the process and in the kernel for it.
    pub fn spent(&self) -> Result<Duration> {
        spent_by(&format!("/proc/{}/stat", self.0.id()))
    }

    /// Resident memory in bytes.
    pub fn resident(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next()).context("VmRSS")?;
        Ok(kibibytes.parse::<u64>()? * 1024)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What this process has spent, with all that it started and that has ended.
pub fn spent_here() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    ticks(&stat, 11..15)
}

/// What all processes of the machine have spent.
pub fn spent_everywhere() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/stat")?;
    let line = stat.lines().next().context("a line")?;
    let fields: Vec<u32> = line.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
    // user, nice, system, (idle, waiting,) interrupts
    let busy = fields.iter().take(3).chain(fields.iter().skip(5).take(2)).sum::<u32>();
    Ok(TICK * busy)
}

fn spent_by(file: &str) -> Result<Duration> {
    ticks(&fs::read_to_string(file)?, 11..13)
}

/// Fields after the name, which may hold anything but a closing bracket.
fn ticks(stat: &str, fields: std::ops::Range<usize>) -> Result<Duration> {
    let rest = stat.rsplit(')').next().context("a name")?;
    let all: Vec<&str> = rest.split_whitespace().collect();
    let mut sum = 0;
    for field in all.get(fields).context("fields")? {
        sum += field.parse::<u32>()?;
    }
    Ok(TICK * sum)
}
