//! PostgreSQL servers of our own: a primary, and a standby that follows it. They can be killed, stopped in
//! the middle of everything, and promoted. Without the programs there are none, and the test says so.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::Duration;
use tempfile::TempDir;

#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    folder: TempDir,
    pub port: u16,
}

impl Server {
    /// A primary; one whose commits wait for a standby from the moment on when there is one.
    pub fn primary() -> Option<Self> {
        let server = Self::new()?;
        let options = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "-N"];
        assert!(run(server.command("initdb").arg("-D").arg(server.data()).args(options)));
        server.start();
        Some(server)
    }

    /// Follows the primary from now on.
    pub fn standby_of(primary: &Self) -> Self {
        let server = Self::new().unwrap();
        let mut copy = server.command("pg_basebackup");
        copy.args(["-h", "127.0.0.1", "-U", "postgres", "-R", "-c", "fast", "-p"]);
        assert!(run(copy.arg(primary.port.to_string()).arg("-D").arg(server.data())));
        server.start();
        server
    }

    fn new() -> Option<Self> {
        let Some(programs) = programs() else {
            SAID.call_once(say_skipped);
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        assert!(!am_root() || run(Command::new("chown").arg("postgres:").arg(folder.path())));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        Some(Self { programs, folder, port: listener.local_addr().unwrap().port() })
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// The machine does not lose power, so nothing has to reach the disk.
    pub fn start(&self) {
        let folder = self.folder.path();
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c fsync=off \
             -c full_page_writes=off -c max_connections=80 -c wal_receiver_status_interval=1s",
            self.port,
            folder.display()
        );
        let began = tokio::time::Instant::now();
        loop {
            let mut start = self.command("pg_ctl");
            start.arg("-D").arg(self.data()).args(["-s", "-w", "-t", "60", "-l"]);
            if run(start.arg(folder.join("log")).args(["-o", &options, "start"])) {
                return;
            }
            // The last of the processes that were killed may still be going.
            assert!(began.elapsed() < Duration::from_secs(20), "PostgreSQL does not start");
        }
    }

    /// `kill -9` of every process.
    pub fn kill(&self) {
        self.signal("KILL");
    }

    /// It stands still, with every connection open.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    pub fn thaw(&self) {
        self.signal("CONT");
    }

    pub fn promote(&self) {
        assert!(run(self
            .command("pg_ctl")
            .arg("-D")
            .arg(self.data())
            .args(["-s", "-w", "promote"])));
    }

    fn signal(&self, signal: &str) {
        let Ok(file) = std::fs::read_to_string(self.data().join("postmaster.pid")) else { return };
        let pid = file.lines().next().unwrap();
        let children = Command::new("pgrep").args(["-P", pid]).output().unwrap().stdout;
        let children = String::from_utf8(children).unwrap();
        let signal = format!("-{signal}");
        run(Command::new("kill").arg(signal).arg(pid).args(children.split_whitespace()));
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// PostgreSQL refuses to run as root.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        if am_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.thaw();
        self.kill();
        // What it had open is gone before its folder is.
        std::thread::yield_now();
    }
}

pub async fn eventually(within: Duration, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let began = tokio::time::Instant::now();
    while !holds().await {
        assert!(began.elapsed() < within, "not within {within:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    began.elapsed()
}

static SAID: Once = Once::new();

/// Past the test harness, which swallows what a passing test prints.
fn say_skipped() {
    let line = b"\n*** failover SKIPPED: no PostgreSQL under /usr/lib/postgresql ***\n\n";
    std::io::stderr().write_all(line).unwrap();
}

fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<_> = versions.map(|version| version.unwrap().path().join("bin")).collect();
    found.retain(|bin| bin.join("initdb").exists() && bin.join("pg_basebackup").exists());
    found.sort();
    found.pop()
}

pub fn am_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

fn run(command: &mut Command) -> bool {
    let quiet = command.current_dir(Path::new("/")).stdin(Stdio::null());
    let quiet = quiet.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
