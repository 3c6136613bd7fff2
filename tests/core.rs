//! Tests of the core: no display, no GPU, no network.

mod hardware;
