//! Log lines on their way to a reader who may stall: a full pipe would stop every thread that logs, and
//! the signal to end with them. So lines wait in a bounded queue, a thread of its own writes them, and
//! what finds no place is left out, with a line that says how many.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use tracing_subscriber::fmt::MakeWriter;

/// A few megabytes at most.
const LINES: usize = 8_192;
/// For what still waits at the end.
const LAST_LINES: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(super) struct LogQueue {
    queue: SyncSender<Message>,
    left_out: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Message {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

impl LogQueue {
    pub(super) fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, messages) = sync_channel(LINES);
        let left_out = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&left_out);
        let write = move || write_all(sink, &messages, &counted);
        thread::Builder::new().name("log".to_owned()).spawn(write)?;
        Ok(Self { queue, left_out })
    }

    /// Waits for what was logged so far, but not for ever.
    pub(super) fn flush(&self) {
        let (done, written) = sync_channel(1);
        if self.queue.try_send(Message::Flush(done)).is_ok() {
            let _ = written.recv_timeout(LAST_LINES);
        }
    }
}

fn write_all(mut sink: impl Write, messages: &Receiver<Message>, left_out: &AtomicU64) {
    for message in messages {
        match message {
            // Who cannot be written to cannot be told so.
            Message::Line(line) => drop(sink.write_all(&line)),
            Message::Flush(done) => {
                let _ = sink.flush();
                let _ = done.try_send(());
            }
        }
        let lines = left_out.swap(0, Ordering::Relaxed);
        if lines > 0 {
            tracing::warn!(left_out = lines, "the log was read too slowly");
        }
    }
}

/// One call is one line: the subscriber writes each event whole.
impl Write for LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.queue.try_send(Message::Line(line.to_vec())).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for LogQueue {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    /// Writes nothing until it is allowed to.
    struct Stalled {
        go: Receiver<()>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.go.recv();
            self.written.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_who_stalls_stops_nobody_and_what_is_left_out_is_counted() {
        let (allow, go) = channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut queue = LogQueue::start(Stalled { go, written: Arc::clone(&written) }).unwrap();
        for _ in 0..LINES + 100 {
            queue.write_all(b"line\n").unwrap();
        }
        // One may already be with the writer.
        assert!(queue.left_out.load(Ordering::Relaxed) >= 99);
        drop(allow);
        while written.lock().unwrap().len() < LINES * 5 {
            thread::yield_now();
        }
        queue.flush();
    }
}
