use testkit::TempTree;

use super::*;

#[test]
fn sizes_and_percentages_are_parsed_and_printed() {
    for (text, limit, printed) in [
        ("4G", MemoryLimit::Bytes(4 << 30), "4G"),
        ("4GiB", MemoryLimit::Bytes(4 << 30), "4G"),
        ("512m", MemoryLimit::Bytes(512 << 20), "512M"),
        ("1536M", MemoryLimit::Bytes(1536 << 20), "1536M"),
        ("2T", MemoryLimit::Bytes(2 << 40), "2T"),
        ("1000", MemoryLimit::Bytes(1000), "1000"),
        ("50%", MemoryLimit::Percent(50), "50%"),
        ("100%", MemoryLimit::Percent(100), "100%"),
    ] {
        let parsed: MemoryLimit = text.parse().unwrap();
        assert_eq!((parsed, parsed.to_string().as_str()), (limit, printed), "{text}");
        assert_eq!(printed.parse(), Ok(limit), "{text}");
    }
    for text in
        ["", "0", "0%", "101%", "-1", "+1G", "4 G", "G", "4X", "1.5G", "%", "99999999T", "iB"]
    {
        assert_eq!(text.parse::<MemoryLimit>(), Err(InvalidMemoryLimit), "{text}");
    }
}

#[test]
fn a_limit_is_printed_in_the_largest_unit() {
    for (bytes, words) in [
        (4 << 30, "4 GiB"),
        ((4 << 30) + (1 << 29), "4.5 GiB"),
        (100 << 20, "100 MiB"),
        (1500, "1.4 KiB"),
        (12, "12 bytes"),
    ] {
        assert_eq!(MemoryLimit::in_words(bytes), words);
    }
}

const MACHINE: &str = "proc/meminfo = MemTotal:       8192 kB\nproc/self/cgroup = ";

#[test]
fn the_smallest_limit_around_the_process_counts() {
    for (description, bytes) in [
        // Without control groups.
        ("0::/", 8192 << 10),
        // Version 2: in a container, its own group is the top one.
        ("0::/\nsys/fs/cgroup/memory.max = 1000000", 1_000_000),
        (
            "0::/a/b\nsys/fs/cgroup/a/b/memory.max = max\nsys/fs/cgroup/a/memory.max = 2000000",
            2_000_000,
        ),
        // Version 1, with the path of the machine in a container.
        ("4:memory:/docker/x\nsys/fs/cgroup/memory/memory.limit_in_bytes = 3000000", 3_000_000),
        ("4:cpu,memory:/a\nsys/fs/cgroup/memory/a/memory.limit_in_bytes = 4000000", 4_000_000),
        (
            "4:memory:/a\nsys/fs/cgroup/memory/a/memory.limit_in_bytes = 9223372036854771712",
            8192 << 10,
        ),
        // Other groups do not count.
        ("4:cpu:/a\nsys/fs/cgroup/memory/a/memory.limit_in_bytes = 1", 8192 << 10),
    ] {
        let tree = TempTree::new(&format!("{MACHINE}{description}"));
        assert_eq!(available(tree.path()), Some(bytes), "{description}");
    }
    assert_eq!(available(Path::new("/nonexistent")), None);
}
