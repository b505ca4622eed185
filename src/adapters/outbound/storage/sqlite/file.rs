//! The one file: who makes it, who holds it, who may read it, and whether it is still the one that was
//! opened. The database file itself is never opened here: closing it would drop SQLite's own locks.

use crate::adapters::outbound::storage::settings::{ConnectError, OnMissing};
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Orders name people: nobody but the service's own user reads them.
const PRIVATE: u32 = 0o600;

/// Longer is nobody's name.
const MAX_HOLDER: u64 = 512;

/// An empty file, private from its first moment; SQLite gives its permissions to the files beside it.
pub fn create(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let made = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path);
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The path with an ending, as SQLite names the files beside the database.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Also of a file that an earlier version or a person has made.
fn make_private(path: &Path) -> io::Result<()> {
    for file in [path.to_owned(), beside(path, "-wal"), beside(path, "-shm")] {
        match std::fs::set_permissions(&file, Permissions::from_mode(PRIVATE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// While it lives no other process serves from the file. The kernel lets go of it however the process
/// ends.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// # Errors
    /// Another process holds it, there is no database file, or the folder cannot be written.
    pub fn take(path: &Path, holder: &str, missing: OnMissing) -> Result<Self, ConnectError> {
        match missing {
            OnMissing::Create => create(path)?,
            OnMissing::Refuse if !path.try_exists()? => {
                return Err(ConnectError::NoFile(path.to_owned()));
            }
            OnMissing::Refuse => {}
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(PRIVATE);
        let mut file = options.open(beside(path, ".lock"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.take(MAX_HOLDER).read_to_string(&mut holder)?;
                return Err(ConnectError::Held { path: path.to_owned(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        file.set_len(0)?;
        write!(file, "{holder}, process {}", std::process::id())?;
        make_private(path)?;
        Ok(Self { _file: file })
    }
}

/// Which file this is, whatever its name leads to later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileIdentity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl FileIdentity {
    pub fn of(path: &Path) -> io::Result<Self> {
        let found = std::fs::metadata(path)?;
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    /// Whether its name still leads to it. What is written to a file that was deleted or replaced is
    /// lost with the process.
    pub fn is_in_place(&self) -> bool {
        Self::of(&self.path).is_ok_and(|found| found == *self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_second_holder_is_refused_and_hears_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/orders.db");
        let first = FileLock::take(&path, "instance a", OnMissing::Create).unwrap();
        let refused = FileLock::take(&path, "instance b", OnMissing::Refuse).unwrap_err();
        let told = refused.to_string();
        let expected = format!("instance a, process {}", std::process::id());
        assert!(told.contains(&expected), "{told}");
        drop(first);
        FileLock::take(&path, "b", OnMissing::Refuse).unwrap();
        let held = std::fs::read_to_string(beside(&path, ".lock")).unwrap();
        assert!(held.starts_with("b, "), "{held}");
    }

    #[test]
    fn no_file_is_made_by_whoever_expects_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orders.db");
        let refused = FileLock::take(&path, "a", OnMissing::Refuse).unwrap_err();
        assert!(matches!(refused, ConnectError::NoFile(_)), "{refused}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_files_are_private_also_those_that_were_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orders.db");
        create(&path).unwrap();
        assert_eq!(mode(&path), PRIVATE);
        for file in [path.clone(), beside(&path, "-wal")] {
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        }
        let _held = FileLock::take(&path, "a", OnMissing::Refuse).unwrap();
        for file in [path.clone(), beside(&path, "-wal"), beside(&path, ".lock")] {
            assert_eq!(mode(&file), PRIVATE, "{file:?}");
        }
    }

    #[test]
    fn a_deleted_or_replaced_file_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orders.db");
        create(&path).unwrap();
        let opened = FileIdentity::of(&path).unwrap();
        assert!(opened.is_in_place());
        std::fs::rename(&path, folder.path().join("old.db")).unwrap();
        assert!(!opened.is_in_place());
        create(&path).unwrap();
        assert!(!opened.is_in_place());
    }
}
