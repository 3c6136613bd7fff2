//! Parts of files, from servers that serve them, do not, or say that they do.

use std::ops::Range;

use super::failure::Asked;
use super::http::{Ended, Response};
use super::{Error, Watch};

/// Most bytes that are received in vain from a server that sends whole files when asked for a part.
const IN_VAIN: u64 = 64 << 20;

/// A part of a file, and the answer about it.
pub(super) struct Part<'a> {
    pub(super) asked: Asked<'a>,
    /// The file, for progress.
    pub(super) name: &'a str,
    /// Its size, as the repository's list has it.
    pub(super) size: u64,
    /// What was asked for. It is not empty.
    pub(super) range: Range<u64>,
}

impl Part<'_> {
    /// The bytes from the beginning of the range on: at least one, and no more than asked for.
    pub(super) fn receive(&self, response: Response, watch: &Watch<'_>) -> Result<Vec<u8>, Error> {
        let wrong = |reason: String| self.wrong(&response, reason);
        if let Some(encoding) = response.compressed() {
            return Err(wrong(format!("it is compressed ({encoding})")));
        }
        let (skip, expected) = match response.status {
            206 => (
                0,
                self.promised(response.header("content-range"))
                    .map_err(wrong)?,
            ),
            200 => (self.range.start, self.of_whole(&response)?),
            416 => return Err(wrong(format!("there is no byte {}", self.range.start))),
            _ => return Err(self.asked.refused(&response)),
        };
        self.body(response, skip, expected, watch)
    }

    /// How many bytes a `Content-Range` promises, where it is the range that was asked for or its beginning.
    fn promised(&self, header: Option<&str>) -> Result<u64, String> {
        let text = header.unwrap_or_default();
        let parsed = || {
            let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
            let (first, last) = range.split_once('-')?;
            Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?, total))
        };
        let Some((first, last, total)) = parsed() else {
            return Err("it does not say which part it sends".to_owned());
        };
        if first != self.range.start || last < first || last >= self.range.end {
            return Err(format!(
                "it sends bytes {first} to {last} instead of {} to {}",
                self.range.start,
                self.range.end - 1
            ));
        }
        match total.parse::<u64>() {
            Ok(total) if total != self.size => Err(self.other_size(total)),
            _ => Ok(last - first + 1),
        }
    }

    fn other_size(&self, found: u64) -> String {
        format!(
            "the file has {found} bytes, and the repository lists it with {}",
            self.size
        )
    }

    /// The same from a server that sends the whole file.
    fn of_whole(&self, response: &Response) -> Result<u64, Error> {
        let page = response
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("text/html"));
        if page {
            return Err(Error::Answer {
                host: response.url.host().to_owned(),
                what: self.asked.what.clone(),
                reason: "a web page".to_owned(),
            });
        }
        let length = response
            .header("content-length")
            .and_then(|length| length.parse::<u64>().ok());
        if let Some(length) = length.filter(|length| *length != self.size) {
            return Err(self.wrong(response, self.other_size(length)));
        }
        if self.range.start > IN_VAIN {
            return Err(self.wrong(
                response,
                "it sends the whole file from its beginning".to_owned(),
            ));
        }
        Ok(self.range.end - self.range.start)
    }

    fn body(
        &self,
        mut response: Response,
        skip: u64,
        expected: u64,
        watch: &Watch<'_>,
    ) -> Result<Vec<u8>, Error> {
        let mut skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let length = usize::try_from(expected).unwrap_or(usize::MAX);
        let mut bytes: Vec<u8> = Vec::new();
        while bytes.len() < length {
            let chunk = match response.chunk(watch) {
                Ok(Some(chunk)) => chunk,
                Ok(None) | Err(Ended::Cut) => {
                    return Err(Error::CutOff {
                        host: response.url.host().to_owned(),
                        what: self.asked.what.clone(),
                        got: bytes.len() as u64,
                        expected,
                    });
                }
                Err(Ended::Failed(error)) => return Err(error),
            };
            watch.tell(self.name, chunk.len() as u64);
            let wanted = chunk.get(skip.min(chunk.len())..).unwrap_or_default();
            skip = skip.saturating_sub(chunk.len());
            let room = length - bytes.len();
            bytes.extend_from_slice(wanted.get(..room.min(wanted.len())).unwrap_or_default());
        }
        Ok(bytes)
    }

    fn wrong(&self, response: &Response, reason: String) -> Error {
        Error::Range {
            host: response.url.host().to_owned(),
            what: self.asked.what.clone(),
            reason,
        }
    }
}
