//! An owner file: damaged ones prove nothing, and one that proves something says which process it was.

use ksql_flownet::flownet::lease::owner::find;

pub fn check(bytes: &[u8]) {
    let folder = std::env::temp_dir().join(format!("fuzz-owner-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("temporary folder");
    std::fs::write(folder.join("token.owner"), bytes).expect("temporary file");
    if let Some(owner) = find(&folder, "token") {
        assert_eq!(owner.token, "token");
        assert_eq!(bytes.last(), Some(&b'\n'), "a torn file was believed");
        let noted = bytes
            .split(|b| *b == b'\n')
            .filter(|line| line.starts_with(b"job="))
            .count();
        assert_eq!(owner.jobs.len(), noted, "a noted job was lost");
    }
    assert_eq!(find(&folder, "../token"), None);
}
