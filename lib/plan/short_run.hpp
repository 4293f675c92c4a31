/// Runs whose programs are large, planned by smaller ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/layer_sample.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// How small: that of a plan, or of one among many that a search compares; or not smaller.
enum class Size { of_plan, of_search, whole };

/// Layers of a stage, and chunks that a rank updates, up to which a run is planned as it is; of layers in
/// many tiles fewer, as they have more ops.
inline constexpr std::int64_t most_layers = 256;
inline constexpr std::int64_t most_chunks = 4096;

/// Tiles of a weight up to which they are built as they are.
inline constexpr int most_tiles = 128;

/// Micro-batches from which on each finds the memory of a rank as the one before left it.
std::int64_t enough_micro_batches(const spec::Parallel& parallel);

/// A run that is built instead of a larger one.
struct ShortRun {
    spec::RunSpec spec;
    LayerSample layers;                        ///< of the larger one
    std::vector<spec::TileRule> larger_tiles;  ///< the rules of the larger one, with no more than are built
};

/// The run with fewer layers of each kind where they are more than most_layers, of a pipeline also where its
/// stages pass many micro-batches through many layers, with larger chunks where they
/// are more than most_chunks, and with larger tiles where a weight has more than most_tiles. So a plan costs
/// the same however deep and wide a model is, and however fine it is cut.
ShortRun shortened(const spec::RunSpec& spec, Size size);

/// Elements of a chunk, also where the deck leaves them to the program.
std::int64_t chunk_elements(const spec::RunSpec& spec);

/// Gives the arenas and buffers of `program`, which was built of `built`, the sizes that they have in
/// `whole`; buffers then stand for those of several layers and have no place any more.
///
/// State is that of all layers, in the shares that homes ask for. Activations that wait for backward are as
/// many as there are layers, what updates bring shrinks with their chunks, what holds a tile with the tiles
/// (see tile_factors); the rest of what is transient stays. What cannot be known so is taken for more: a run
/// that is planned to fit does.
void scale_up(schedule::Program& program, const ShortRun& built, const spec::RunSpec& whole);

/// How a plan was made of less than the run, in words: `from 128 of 10,000 layers: up to a fifth more than
/// it takes`; empty where nothing was left out.
///
/// \param built_stages  of a pipeline
std::string how_exact(const ShortRun& built, const spec::RunSpec& whole, int built_stages);

}  // namespace ziggurat::plan
