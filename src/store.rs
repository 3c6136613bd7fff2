//! Files of the user: atomic writes and the folders they live in.
