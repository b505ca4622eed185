//! The PostgreSQL of a run: a server of its own, which can be stopped without warning, where the
//! programs are installed; else a database on the server of `TEST_DATABASE_URL`.

use super::instance::free_port;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use tokio::task::spawn_blocking;

#[derive(Debug)]
pub struct Base {
    pub url: String,
    sort: Sort,
}

#[derive(Debug)]
enum Sort {
    Own(Server),
    Lent { server: String, name: String },
}

#[derive(Debug, Clone)]
struct Server {
    programs: PathBuf,
    folder: std::sync::Arc<TempDir>,
    port: u16,
}

impl Base {
    pub async fn find() -> Option<Self> {
        if let Some(server) = spawn_blocking(Server::start).await.unwrap() {
            let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port);
            return Some(Self { url, sort: Sort::Own(server) });
        }
        let server = std::env::var("TEST_DATABASE_URL").ok()?;
        let name = format!("chaos_{:032x}", fastrand::u128(..));
        on_server(&server, format!("CREATE DATABASE {name}")).await;
        let (base, _) = server.rsplit_once('/').unwrap();
        Some(Self { url: format!("{base}/{name}"), sort: Sort::Lent { server, name } })
    }

    /// Stops at once, as a power cut would, but for the disk; and starts again. `false`: the server
    /// is not ours to stop.
    pub async fn restart(&self) -> bool {
        let Sort::Own(server) = &self.sort else { return false };
        let server = server.clone();
        spawn_blocking(move || {
            server.stop();
            assert!(server.launch(), "PostgreSQL does not start again");
        })
        .await
        .unwrap();
        true
    }

    pub async fn end(&self) {
        match &self.sort {
            Sort::Own(server) => server.stop(),
            Sort::Lent { server, name } => {
                on_server(server, format!("DROP DATABASE {name} WITH (FORCE)")).await;
            }
        }
    }
}

impl Drop for Base {
    /// A run that fails must not leave a server behind.
    fn drop(&mut self) {
        if let Sort::Own(server) = &self.sort {
            server.stop();
        }
    }
}

impl Server {
    fn start() -> Option<Self> {
        let programs = programs()?;
        let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
        let owned = !am_root() || run(Command::new("chown").args(["postgres:"]).arg(folder.path()));
        let server = Self { programs, folder, port: free_port() };
        let options = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8"];
        let made = owned
            && run(server.command("initdb").arg("-D").arg(server.data()).args(options).arg("-N"));
        (made && server.launch()).then_some(server)
    }

    /// The machine does not lose power, so nothing has to reach the disk; but what is committed has to
    /// survive the server, so `synchronous_commit` stays.
    fn launch(&self) -> bool {
        let folder = self.folder.path();
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} \
             -c max_connections=60 -c fsync=off -c full_page_writes=off",
            self.port,
            folder.display()
        );
        let mut start = self.command("pg_ctl");
        start.arg("-D").arg(self.data()).args(["-s", "-w", "-t", "60", "-l"]);
        run(start.arg(folder.join("log")).args(["-o", &options, "start"]))
    }

    fn stop(&self) {
        let mut stop = self.command("pg_ctl");
        run(stop.arg("-D").arg(self.data()).args(["-s", "-w", "-m", "immediate", "stop"]));
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

fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<_> = versions.map(|version| version.unwrap().path().join("bin")).collect();
    found.retain(|bin| bin.join("initdb").exists() && bin.join("pg_ctl").exists());
    found.sort();
    found.pop()
}

fn am_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

fn run(command: &mut Command) -> bool {
    let quiet = command.current_dir(Path::new("/")).stdin(Stdio::null());
    let quiet = quiet.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

async fn on_server(server: &str, sql: String) {
    let mut connection = PgConnection::connect(server).await.unwrap();
    connection.execute(AssertSqlSafe(sql)).await.unwrap();
    connection.close().await.unwrap();
}
