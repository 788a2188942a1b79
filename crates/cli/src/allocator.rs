//! Keeps a server's memory from growing with the length of its loads.

/// glibc gives a freed buffer back to the system at once if it is larger than a threshold, and raises that threshold, up to 32 MiB, whenever it
/// frees a larger one. The batches of a load then stay in its arenas, in pieces that no other thread can use. Only a variable in the environment
/// keeps the threshold where it begins, and only if it is there when the process starts: so the program starts itself once more.
///
/// Where that fails, the server runs without it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn fix_threshold() {
    use std::os::unix::process::CommandExt;
    use std::{env, process};

    const VARIABLE: &str = "MALLOC_MMAP_THRESHOLD_";
    const BYTES: &str = "131072";
    if env::var_os(VARIABLE).is_some() {
        return;
    }
    let Ok(program) = env::current_exe() else { return };
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_else(|| program.clone().into_os_string());
    let error = process::Command::new(program).arg0(name).args(arguments).env(VARIABLE, BYTES).exec();
    eprintln!("warning: memory may grow with the length of loads: the program could not start itself again: {error}");
}

/// Other allocators have no such threshold.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn fix_threshold() {}
