//! A root folder with the static programs and nothing of the system: no library, no zone files, no certificates, no device,
//! no shell. Only the kernel's /proc is there, as on any Linux: without it no program could prove which process it is.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the network definition and its jobs are inside the root folder.
pub const JOBS: &str = "/jobs/monthly_summary";

/// Path of a program of `make static`.
pub fn static_program(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(target)
        .join("static")
        .join(name);
    assert!(path.exists(), "{} is missing: make static", path.display());
    path
}

/// The folder; removed at the end.
pub struct EmptyRoot {
    path: PathBuf,
}

impl EmptyRoot {
    /// The programs, the example network and two root certificates.
    pub fn new() -> EmptyRoot {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("empty-root-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let root = EmptyRoot { path };
        for name in ["ksql-flownet", "ksql-flow", "kintone-sandbox"] {
            root.copy(&static_program(name), &format!("/bin/{name}"));
        }
        let project = Path::new(env!("CARGO_MANIFEST_DIR"));
        root.copy_folder(&project.join("examples/monthly_summary"), JOBS);
        root.copy(&project.join("tests/data/tls/ca.pem"), "/etc/ca.pem");
        root.copy(&project.join("tests/data/tls/other-ca.pem"), "/etc/other-ca.pem");
        // What the kernel's own device is elsewhere: the standard input of a job, always at its end.
        root.write("/dev/null", "");
        for folder in ["/proc", "/work"] {
            fs::create_dir(root.host(folder)).unwrap();
        }
        root
    }

    /// The path on this machine of a path inside.
    pub fn host(&self, inside: &str) -> PathBuf {
        self.path.join(inside.trim_start_matches('/'))
    }

    /// Writes a file inside.
    pub fn write(&self, inside: &str, text: &str) {
        let file = self.host(inside);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn copy(&self, from: &Path, inside: &str) {
        let file = self.host(inside);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::copy(from, file).unwrap();
    }

    fn copy_folder(&self, from: &Path, inside: &str) {
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{inside}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                self.copy_folder(&entry.path(), &name);
            } else {
                self.copy(&entry.path(), &name);
            }
        }
    }

    /// A program of the root folder, ready to start, with an empty environment. Needs no rights where the kernel lets users
    /// have name spaces of their own. Every step becomes the next one, so the process that is started is the program.
    pub fn command(&self, program: &str) -> Command {
        const ENTER: &str = "/usr/bin/mount --rbind /proc \"$0/proc\" && exec /usr/sbin/chroot \"$0\" \"$@\"";
        let mut command = Command::new("/usr/bin/unshare");
        command.env_clear().stdin(Stdio::null()).arg("--mount");
        if !rustix::process::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        command.args(["/bin/sh", "-c", ENTER]).arg(&self.path);
        command.arg(format!("/bin/{program}"));
        command
    }

    /// Runs a program to its end.
    pub fn run(&self, program: &str, arguments: &[&str], environment: &[(String, String)]) -> Ended {
        let output = self
            .command(program)
            .args(arguments)
            .envs(environment.iter().cloned())
            .output()
            .unwrap();
        Ended::from(output)
    }
}

impl Drop for EmptyRoot {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// How a program ended and what it printed.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    /// Panics with everything that was printed unless the exit status is this.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

/// The static stand-in for kintone, serving from inside a root folder; ended with it.
pub struct Stand {
    child: Child,
    /// Kept open: a closed pipe would end the stand at its next line.
    _lines: BufReader<ChildStdout>,
    /// Port on 127.0.0.1, plain http.
    pub port: u16,
}

impl Stand {
    /// Seeds `/kintone` and serves it.
    pub fn start(root: &EmptyRoot) -> Stand {
        let seed = ["seed", "--dir", "/kintone"];
        root.run("kintone-sandbox", &seed, &[]).expect(0);
        let serve = [
            "serve",
            "--apps",
            "/kintone/apps.json",
            "--data",
            "/kintone/data",
            "--port",
            "0",
            "--control",
        ];
        let mut child = root
            .command("kintone-sandbox")
            .args(serve)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        let port = first.trim().rsplit(':').next().unwrap();
        let port = port.parse().unwrap_or_else(|_| panic!("first line: {first}"));
        Stand {
            child,
            _lines: lines,
            port,
        }
    }

    /// Sends SIGTERM and waits; the exit status.
    pub fn terminate(mut self) -> Option<i32> {
        send_sigterm(&self.child);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// SIGTERM for a program started by [`EmptyRoot::command`].
pub fn send_sigterm(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}
