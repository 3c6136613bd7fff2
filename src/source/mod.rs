//! Where models come from: bounded readers over bytes.
