/// Runs whose programs are large, planned by smaller ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/representative_layers.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Size of the reduced run: for a plan, for one of many in a search, for an estimate, or not reduced.
///
/// Estimates are by few layers, and may be too high.
enum class Size { of_plan, of_search, of_estimate, whole };

/// Maximum of layers of a stage, and of chunks that a rank updates, for which a run is planned
/// unreduced. For layers with many tiles, the maximum is smaller, because they have more ops.
inline constexpr std::int64_t max_layers = 256;
inline constexpr std::int64_t max_chunks = 4096;

/// Maximum number of tiles of a weight that are built as they are.
inline constexpr int max_tiles = 128;

/// Returns the number of a step's micro-batches that a plan of memory builds.
///
/// After some, each finds a rank's memory in the same state. By layer, each adds to it, so all are built.
std::int64_t enough_micro_batches(const spec::RunSpec& spec);

/// Reduced run that is built instead of a larger one.
struct ReducedRun {
    spec::RunSpec spec;
    RepresentativeLayers layers;               ///< sample of the larger run
    std::vector<spec::TileRule> larger_tiles;  ///< rules of the larger run, with the number of built tiles
};

/// Returns a reduced run with fewer layers of each kind, larger chunks and larger tiles.
///
/// Layers are reduced if they exceed max_layers; in a pipeline, also if stages run many micro-batches
/// through many layers. Chunks grow if there are more than max_chunks, and tiles if a weight has more than
/// max_tiles. A run with fewer layers has static movement, which moves no fewer bytes. So the cost of
/// a plan does not depend on the size of a model or the fineness of its division.
ReducedRun shortened(const spec::RunSpec& spec, Size size);

/// Returns the elements of a chunk, including the default if the deck does not set them.
std::int64_t chunk_elements(const spec::RunSpec& spec);

/// Scales the arenas and buffers of `program`, which was built from `built`, to their sizes in `whole`.
///
/// Buffers then represent those of several layers and have no valid offset.
///
/// State is that of all layers, in the shares of its homes. Activations that wait for backward scale with the
/// number of layers, buffers for updates with their chunks, and buffers of tiles with the tiles (see
/// tile_factors). Other transient buffers do not change. Unknown sizes are overestimated: a run that is
/// planned to fit does fit.
void scale_up(schedule::Program& program, const ReducedRun& built, const spec::RunSpec& whole);

/// Returns how a plan was reduced; empty if it was not.
///
/// Example: `from 128 of 10,000 layers: may be up to 3 % too high on the device, and a fifth on the host`.
/// reduced_run_test compares plans of whole and reduced runs with these bounds.
///
/// \param built_stages  number of stages of a pipeline that were built
std::string accuracy_note(const ReducedRun& built, const spec::RunSpec& whole, int built_stages);

}  // namespace ziggurat::plan
