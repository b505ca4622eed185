//! PgBouncer in transaction mode: each transaction of ours may meet another session of the server, and
//! every session is shared.

use crate::server::{Server, am_root, eventually};
use crate::{lost, placing};
use order_service::adapters::outbound::storage::{Settings, Store, connect, migrate};
use order_service::core::ports::task_queue::Wakeup;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

struct Pooler {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Pooler {
    /// With fewer sessions than it has clients.
    fn before(server: &Server) -> Option<Self> {
        let programs = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(Path::new);
        let Some(program) = programs.into_iter().find(|program| program.exists()) else {
            let line = b"\n*** PgBouncer SKIPPED: it is not installed ***\n\n";
            std::io::stderr().write_all(line).unwrap();
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (users, settings) = (folder.path().join("users"), folder.path().join("ini"));
        std::fs::write(&users, "\"postgres\" \"\"\n").unwrap();
        let ini = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\n\
             pool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 100\n",
            server.port,
            users.display()
        );
        std::fs::write(&settings, ini).unwrap();
        let mut command = Command::new(if am_root() { Path::new("runuser") } else { program });
        if am_root() {
            let open = Command::new("chown").args(["-R", "postgres:"]).arg(folder.path()).status();
            assert!(open.unwrap().success());
            command.args(["-u", "postgres", "--"]).arg(program);
        }
        let quiet = command.arg(&settings).current_dir("/").stdin(Stdio::null());
        let child = quiet.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Some(Self { child, port, _folder: folder })
    }

    async fn store(&self, direct: &Server) -> Arc<dyn Store> {
        let url = format!("postgres://postgres@127.0.0.1:{}/postgres", self.port);
        eventually(Duration::from_secs(10), async || {
            tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.is_ok()
        })
        .await;
        let settings = Settings {
            max_connections: 8,
            prepared: false,
            direct_url: Some(direct.url()),
            ..Settings::default()
        };
        connect(&url, settings).await.unwrap()
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // `runuser` hands the signal on.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_work_and_wake_each_other_behind_a_pooler_in_transaction_mode() {
    let Some(server) = Server::primary() else { return };
    let Some(pooler) = Pooler::before(&server) else { return };
    migrate(&server.url()).await.unwrap();
    let (one, other) = (pooler.store(&server).await, pooler.store(&server).await);
    let mut all = Vec::new();
    for store in [&one, &other] {
        all.push(placing(store, 8));
    }
    for (_, answered) in &all {
        eventually(Duration::from_secs(20), async || answered.lock().unwrap().len() > 100).await;
    }
    for (working, answered) in all {
        drop(working);
        let answered = answered.lock().unwrap().clone();
        assert_eq!(lost(&*one, &answered).await, 0);
    }
    assert_eq!(one.ping().await, Ok(()));
    let heard = tokio::time::timeout(Duration::from_secs(10), other.wakeup(Wakeup::TaskDue, 0));
    crate::queue_a_task(&*one).await;
    assert!(heard.await.is_ok());
}
