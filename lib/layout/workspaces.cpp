#include "layout/workspaces.hpp"

#include "layout/host_workspaces.hpp"

namespace ziggurat::layout {

std::unique_ptr<Workspaces> make_workspaces(const spec::RunSpec& run) {
    return std::make_unique<HostWorkspaces>(spec::element_bytes(run.precision.compute), run.parallel.threads);
}

}  // namespace ziggurat::layout
