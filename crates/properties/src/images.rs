//! `read` returns an image that can be decoded and is within the limits, or an error.

use std::fs;

use eyelet::tools::{Read, ReadArgs, ReadReport};
use eyelet::{ErrorCode, SandboxPolicy, Tool as _, TurnContext};
use testkit::TempTree;

use crate::target::{Check, Target};

/// The target. The start of its input chooses a region; the rest is the content of the file.
pub const TARGET: Target = Target { name: "images", start };

const MAX_SIDE: u32 = 1568;
const MAX_BYTES: usize = 3_932_160;

const REGIONS: [Option<&str>; 8] = [
    None,
    None,
    None,
    None,
    Some("0,0,1,1"),
    Some("0,0,4000,4000"),
    Some("3,5,7,2"),
    Some("4294967295,0,4294967295,1"),
];

fn start() -> Check {
    let tree = TempTree::new("");
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Off).expect("the path is absolute");
    Box::new(move |choices| {
        let region = choices.pick(&REGIONS).map(str::to_owned);
        let file = choices.rest();
        fs::write(tree.path().join("a"), &file).expect("the tree is writable");
        let args = ReadArgs { region, ..ReadArgs::new("a") };
        match Read.run(args.clone(), &turn) {
            Ok(ReadReport::Image(image)) => {
                assert!(image.data.len() <= MAX_BYTES, "{} bytes", image.data.len());
                let (width, height) = image.shown_size;
                assert!(width.max(height) <= MAX_SIDE && width.min(height) > 0);
                let is_same = args.region.is_none() && image.data == file;
                if !is_same {
                    let decoded = image::load_from_memory(&image.data);
                    let decoded = decoded.expect("a new image can be decoded");
                    assert_eq!((decoded.width(), decoded.height()), (width, height));
                }
            }
            Ok(ReadReport::Text(_)) => assert!(args.region.is_none(), "a region of a text"),
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert!(
                matches!(
                    error.code,
                    ErrorCode::IoError | ErrorCode::TooLarge | ErrorCode::InvalidInput
                ),
                "{error:?}"
            ),
        }
    })
}
