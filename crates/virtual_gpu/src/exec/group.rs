//! Lanes of a block that go the same way: a mask, a place in the code, a stack of frames, and scalars.

use super::lanes::WARP;

/// The most warps of a block.
pub(super) const MAX_WARPS: usize = 32;

/// For each warp the lanes that are meant.
pub(super) type Mask = [u32; MAX_WARPS];

/// The frame of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// The function.
    pub code: u32,
    /// Where its rows begin, in each file.
    pub rows: [u32; 3],
    /// Where its scalars begin.
    pub scalars: usize,
    /// Where its part of local memory begins.
    pub local: u64,
    /// The block of the caller that calls.
    pub from: u32,
    /// The block of the caller that comes after the call.
    pub back: u32,
}

/// What a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// The block's barrier of that number, for so many threads or for all.
    Barrier {
        id: u32,
        count: Option<u32>,
    },
    /// Other lanes of its warps, at a shuffle or its like.
    Warp,
}

/// Lanes that are at the same place.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Numbers grow as groups are made.
    pub serial: u32,
    pub mask: Mask,
    /// All lanes of every warp that has a lane in the mask.
    pub wide: Mask,
    /// Warps that have a lane in the mask.
    pub warps: u32,
    pub frames: Vec<Frame>,
    pub scalars: Vec<u64>,
    pub block: u32,
    pub step: u32,
    /// Registers of the current frame whose loads are on their way.
    pub pending: Vec<u32>,
    pub state: State,
}

impl Group {
    /// Takes over a mask.
    pub fn set_mask(&mut self, mask: Mask) {
        self.mask = mask;
        self.wide = mask.map(|lanes| if lanes == 0 { 0 } else { u32::MAX });
        self.warps = mask.iter().filter(|lanes| **lanes != 0).count() as u32;
    }

    pub fn lanes(&self) -> u32 {
        self.mask.iter().map(|lanes| lanes.count_ones()).sum()
    }

    /// The lowest lane, counted over the block.
    pub fn first_lane(&self) -> usize {
        first_lane(&self.mask)
    }

    pub fn frame(&self) -> Frame {
        // A group has a frame as long as it exists; the last return ends it.
        self.frames.last().copied().unwrap_or(Frame {
            code: 0,
            rows: [0; 3],
            scalars: 0,
            local: 0,
            from: 0,
            back: 0,
        })
    }
}

/// The lowest lane of a mask, counted over the block.
pub(super) fn first_lane(mask: &[u32]) -> usize {
    let warp = mask.iter().position(|lanes| *lanes != 0).unwrap_or(0);
    warp * WARP + mask[warp].trailing_zeros() as usize % WARP
}
