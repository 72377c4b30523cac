//! Attacks of sandboxed commands with setuid bits, extended attributes and inode flags.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use testkit::workspace::{SECOND, TIERS, Workspace};

/// Creates setuid files by every system call that takes a mode, and prints which ones worked.
const SETUID: &str = "
import ctypes, os, stat
libc = ctypes.CDLL(None)
def tried(name, attack):
    try: attack()
    except OSError: pass
    for found in os.scandir('.'):
        if found.stat().st_mode & stat.S_ISUID: print('SETUID', name, found.name)
open('file', 'w').close()
tried('chmod', lambda: os.chmod('file', 0o4755))
tried('fchmod', lambda: os.fchmod(os.open('file', os.O_RDWR), 0o4755))
tried('fchmodat', lambda: os.chmod('file', 0o6755, dir_fd=os.open('.', os.O_RDONLY)))
tried('fchmodat2', lambda: libc.syscall(452, -100, b'file', 0o4755, 0))
tried('open', lambda: os.open('opened', os.O_CREAT | os.O_RDWR, 0o4755))
tried('creat', lambda: libc.creat(b'created', 0o4755))
tried('mknod', lambda: os.mknod('node', 0o4755 | stat.S_IFREG))
tried('mkdir', lambda: os.mkdir('folder', 0o4755))
def temporary():
    handle = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755)
    os.link(f'/proc/self/fd/{handle}', 'linked', follow_symlinks=True)
tried('O_TMPFILE', temporary)
class How(ctypes.Structure): _fields_ = [(name, ctypes.c_uint64) for name in ('flags', 'mode', 'resolve')]
def openat2():
    how = How(os.O_CREAT | os.O_RDWR, 0o4755, 0)
    handle = libc.syscall(437, -100, b'second', ctypes.byref(how), 24)
    os.write(handle, b'#!')
tried('openat2', openat2)
os.chmod('file', 0o2755)
assert os.stat('file').st_mode & stat.S_ISGID
print('tried')
";

#[test]
fn commands_cannot_create_setuid_files() {
    if testkit::lacks("python3") {
        return;
    }
    for tier in TIERS {
        let workspace = Workspace::new("work/");
        let command = format!("cd work; python3 - <<'PYTHON'{SETUID}PYTHON");
        assert_eq!(workspace.stdout(tier, &command), "tried\n", "{tier:?}");
    }
}

#[test]
fn a_file_outside_cannot_become_setuid() {
    for tier in TIERS {
        let workspace = Workspace::new("");
        let file = workspace.outside().join("file");
        fs::write(&file, "").unwrap();
        assert!(workspace.fails(tier, "chmod u+s $OUT/file"), "{tier:?}");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7000, 0, "{tier:?}");
    }
}

#[test]
fn copies_and_archives_with_setgid_and_attributes_work() {
    for tier in TIERS {
        let workspace = Workspace::new("tree/shared/\ntree/file = text");
        let shared = workspace.at("tree/shared");
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o2775)).unwrap();
        let _ = rustix::fs::setxattr(
            workspace.at("tree/file"),
            "user.origin",
            b"here",
            rustix::fs::XattrFlags::empty(),
        );
        let command = "set -e; cp -a tree copy; tar cf t.tar tree; mkdir out; tar xpf t.tar -C out; \
                       cp -r --preserve=mode,timestamps tree third; mv copy moved; sed -i s/text/new/ moved/file; \
                       stat -c %a moved/shared out/tree/shared; cat moved/file";
        assert_eq!(workspace.stdout(tier, command), "2775\n2775\nnew", "{tier:?}");
    }
}

#[test]
fn extended_attributes_outside_cannot_be_changed() {
    if testkit::lacks("python3") {
        return;
    }
    let script = "
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, attack):
    try:
        attack()
        print('CHANGED', name)
    except OSError as error: print(errno.errorcode[error.errno])
path = os.environ['OUT'] + '/file'
handle = os.open(path, os.O_RDONLY)
tried('setxattr', lambda: os.setxattr(path, 'user.x', b'y'))
tried('lsetxattr', lambda: os.setxattr(path, 'user.x', b'y', follow_symlinks=False))
tried('fsetxattr', lambda: os.setxattr(handle, 'user.x', b'y'))
tried('removexattr', lambda: os.removexattr(path, 'user.mark'))
tried('fremovexattr', lambda: os.removexattr(handle, 'user.mark'))
def at(*call):
    if libc.syscall(*call) < 0:
        number = ctypes.get_errno()
        raise OSError(errno.ENOTSUP if number == errno.ENOSYS else number, '')
class Value(ctypes.Structure): _fields_ = [('value', ctypes.c_char_p), ('size', ctypes.c_uint32), ('flags', ctypes.c_uint32)]
value = Value(b'y', 1, 0)
tried('setxattrat', lambda: at(463, -100, path.encode(), 0, b'user.x', ctypes.byref(value), ctypes.c_size_t(16)))
tried('removexattrat', lambda: at(466, -100, path.encode(), 0, b'user.mark'))
";
    let workspace = Workspace::new("");
    let file = workspace.outside().join("file");
    fs::write(&file, "x").unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(&file, "user.mark", b"kept", flags).is_err() {
        return testkit::skip("the file system has no extended attributes");
    }
    for tier in TIERS {
        let said = workspace.stdout(tier, &format!("python3 - <<'PYTHON'{script}PYTHON"));
        // `cp -a` and `tar` accept this error.
        let expected = if tier == SECOND { "EOPNOTSUPP\n" } else { "EROFS\n" };
        let said = said.replace("ENOTSUP\n", "EOPNOTSUPP\n");
        assert!(
            said.lines().all(|line| line == expected.trim() || line == "EOPNOTSUPP"),
            "{tier:?} {said}"
        );
        assert_eq!(said.lines().count(), 7, "{tier:?} {said}");
        let mut value = [0; 8];
        let length = rustix::fs::getxattr(&file, "user.mark", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"kept", "{tier:?}");
    }
}

#[test]
fn inode_flags_outside_cannot_be_changed() {
    if testkit::lacks("python3") {
        return;
    }
    let script = "
import array, ctypes, fcntl, os
libc = ctypes.CDLL(None)
def tried(name, attack):
    try:
        attack()
        print('CHANGED', name)
    except OSError: pass
path = os.environ['OUT'] + '/file'
handle = os.open(path, os.O_RDONLY)
NODUMP = array.array('l', [0x40])
tried('FS_IOC_SETFLAGS', lambda: fcntl.ioctl(handle, 0x40086602, NODUMP))
tried('FS_IOC_FSSETXATTR', lambda: fcntl.ioctl(handle, 0x401c5820, array.array('I', [0x80] + [0] * 6)))
tried('FS_IOC_SETVERSION', lambda: fcntl.ioctl(handle, 0x40087602, array.array('i', [7, 0])))
folder = os.open(os.environ['OUT'] + '/folder', os.O_RDONLY)
tried('FS_IOC_SETFLAGS', lambda: fcntl.ioctl(folder, 0x40086602, NODUMP))
def file_setattr():
    if libc.syscall(469, -100, path.encode(), (ctypes.c_uint64 * 3)(0x80, 0, 0), 24, 0) < 0: raise OSError
tried('file_setattr', file_setattr)
# FS_IOC_REMOVE_ENCRYPTION_KEY would lock an encrypted home. EPERM comes from the sandbox.
try: fcntl.ioctl(folder, 0xc0406618, bytes(64))
except OSError as error: print('keys', error.errno == 1)
print('tried')
";
    let workspace = Workspace::new("");
    let file = workspace.outside().join("file");
    fs::write(&file, "x").unwrap();
    fs::create_dir(workspace.outside().join("folder")).unwrap();
    let flags = || {
        let open = fs::File::open(&file).unwrap();
        rustix::fs::ioctl_getflags(&open).ok()
    };
    let before = flags();
    for tier in TIERS {
        let said = workspace.stdout(tier, &format!("python3 - <<'PYTHON'{script}PYTHON"));
        assert_eq!(said, "keys True\ntried\n", "{tier:?}");
        assert_eq!(flags(), before, "{tier:?}");
    }
}
