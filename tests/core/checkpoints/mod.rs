//! Folders of Hugging Face: whole ones, quantized ones, broken and hostile ones.

mod adapters;
mod asked;
mod folders;
mod hostile;
mod packed;
mod quantization;
mod synthetic;
