//! Ways of finding out what a machine has, one file each.
