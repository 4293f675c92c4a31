/// Runs whose programs are large, planned by smaller ones.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// How small: that of a plan, or of one among many that a search compares.
enum class Size { of_plan, of_search };

/// Layers of a stage, and chunks that a rank updates, up to which a run is planned as it is; of layers in
/// many tiles fewer, as they have more ops.
inline constexpr std::int64_t most_layers = 256;
inline constexpr std::int64_t most_chunks = 4096;

/// Tiles of a weight up to which they are built as they are.
inline constexpr int most_tiles = 128;

/// The run with fewer layers where they are more than most_layers and alike, with larger chunks where they
/// are more than most_chunks, and with larger tiles where a weight has more than most_tiles. So a plan costs
/// the same however deep and wide a model is, and however fine it is cut.
spec::RunSpec shortened(const spec::RunSpec& spec, Size size);

/// Elements of a chunk, also where the deck leaves them to the program.
std::int64_t chunk_elements(const spec::RunSpec& spec);

/// Whether no pattern tells layers apart: neither what is trained nor what is cut into tiles.
bool are_layers_alike(const spec::RunSpec& spec);

/// How many layers without tiles have as many ops as one of the run.
std::int64_t weight_of_layer(const spec::RunSpec& spec);

/// Gives the arenas and buffers of `program`, which was built of `built`, the sizes that they have in
/// `whole`; buffers then stand for those of several layers and have no place any more.
///
/// State is that of all layers, in the shares that homes ask for. Activations that wait for backward are as
/// many as there are layers, what updates bring shrinks with their chunks, what holds a tile with the tiles
/// (see tile_factors); the rest of what is transient stays.
void scale_up(schedule::Program& program, const spec::RunSpec& built, const spec::RunSpec& whole);

/// What scale_up cannot know, in words: `from 128 of 10,000 layers: exact to about 5 %`; empty where nothing
/// was shortened.
std::string how_exact(const spec::RunSpec& built, const spec::RunSpec& whole);

}  // namespace ziggurat::plan
