#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

void resolve_debug(Resolution& resolution) {
    Values& values = resolution.values;
    if (resolution.is_auto("debug.nodes")) {
        values.set_resolved("debug.nodes", {}, "none", "the real nodes");
    }
    resolution.run.debug.nodes = static_cast<int>(values.integer("debug.nodes"));
    resolution.run.debug.throttle = {.nvme_read = values.real("debug.throttle.nvme_read"),
                                     .nvme_write = values.real("debug.throttle.nvme_write"),
                                     .host_to_device = values.real("debug.throttle.host_to_device"),
                                     .device_to_host = values.real("debug.throttle.device_to_host"),
                                     .compute = values.real("debug.throttle.compute"),
                                     .tensor = values.real("debug.throttle.tensor")};
}

}  // namespace ziggurat::deck
