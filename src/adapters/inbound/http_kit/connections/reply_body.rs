//! A reply on its way: handed out in pieces, so that what the client does not read stays here, where it
//! is counted, and not in the buffers of every stream.

use super::bytes::HeldBytes;
use super::watch::OpenRequest;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

const PIECE_BYTES: usize = 16 << 10;

/// The permission to hold a reply's bytes, on its way through the reply's extensions.
#[derive(Debug, Clone)]
pub struct HeldReply(
    #[expect(dead_code, reason = "given back when dropped")] pub(crate) Arc<HeldBytes>,
);

#[derive(Debug)]
pub(super) struct ReplyBody {
    body: Body,
    rest: Bytes,
    _held: Option<HeldReply>,
    _request: OpenRequest,
}

impl ReplyBody {
    pub(super) fn new(body: Body, held: Option<HeldReply>, mut request: OpenRequest) -> Self {
        request.replying();
        Self { body, rest: Bytes::new(), _held: held, _request: request }
    }

    fn piece(&mut self) -> Frame<Bytes> {
        let bytes = self.rest.len().min(PIECE_BYTES);
        Frame::data(self.rest.split_to(bytes))
    }
}

impl HttpBody for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)).transpose()? {
                None => return Poll::Ready(None),
                Some(frame) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
            }
        }
        Poll::Ready(Some(Ok(self.piece())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (hint, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut whole = SizeHint::new();
        if let Some(upper) = hint.upper() {
            whole.set_upper(upper + rest);
        }
        whole.set_lower(hint.lower() + rest);
        whole
    }
}
