//! The calls, on a Mac only.

use std::ffi::{CStr, c_char, c_void};
use std::process::Command;

use super::Answer;

#[expect(
    unsafe_code,
    reason = "Metal and the Objective-C runtime are C interfaces of the system"
)]
#[link(name = "Metal", kind = "framework")]
unsafe extern "C" {
    fn MTLCreateSystemDefaultDevice() -> *mut c_void;
}

#[expect(
    unsafe_code,
    reason = "Metal and the Objective-C runtime are C interfaces of the system"
)]
#[link(name = "objc")]
unsafe extern "C" {
    fn sel_registerName(name: *const c_char) -> *const c_void;
    fn objc_msgSend();
}

/// Asks Metal and the system's tools.
pub(super) fn answer() -> Answer {
    let (chip, working_set) = metal().unzip();
    Answer {
        chip,
        working_set,
        memory_size: output("sysctl", &["-n", "hw.memsize"]),
        wired_limit_mb: output("sysctl", &["-n", "iogpu.wired_limit_mb"]),
        displays: output("system_profiler", &["SPDisplaysDataType", "-json"]),
    }
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Name and `recommendedMaxWorkingSetSize` of the default device.
#[expect(
    unsafe_code,
    reason = "Metal and the Objective-C runtime are C interfaces of the system"
)]
fn metal() -> Option<(String, u64)> {
    type AskPointer = unsafe extern "C" fn(*mut c_void, *const c_void) -> *mut c_void;
    type AskNumber = unsafe extern "C" fn(*mut c_void, *const c_void) -> u64;
    type AskNothing = unsafe extern "C" fn(*mut c_void, *const c_void);
    // SAFETY: the selectors exist on every MTLDevice and NSString and have exactly these types; `objc_msgSend` must be
    // called as the method's own type; the device is owned by this function and released once, after its last use.
    unsafe {
        let device = MTLCreateSystemDefaultDevice();
        if device.is_null() {
            return None;
        }
        let send = objc_msgSend as *const ();
        let ask_pointer = std::mem::transmute::<*const (), AskPointer>(send);
        let ask_number = std::mem::transmute::<*const (), AskNumber>(send);
        let ask_nothing = std::mem::transmute::<*const (), AskNothing>(send);
        let name = ask_pointer(device, sel_registerName(c"name".as_ptr()));
        let text: *const c_char =
            ask_pointer(name, sel_registerName(c"UTF8String".as_ptr())).cast();
        let chip = if text.is_null() {
            String::new()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        };
        let size = ask_number(
            device,
            sel_registerName(c"recommendedMaxWorkingSetSize".as_ptr()),
        );
        ask_nothing(device, sel_registerName(c"release".as_ptr()));
        Some((chip, size))
    }
}
