#include "plan/gpu/kernel_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/units.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Direction;

void add(PassKernels& sum, const std::vector<KernelUse>& kernels) {
    for (const auto& kernel : kernels) {
        sum.launches += kernel.launches;
        sum.bytes += kernel.bytes;
    }
}

UnitKernels& entry(std::vector<UnitKernels>& units, const std::string& name) {
    const auto found = std::ranges::find(units, name, &UnitKernels::unit);
    if (found != units.end()) {
        return *found;
    }
    units.push_back({.unit = name, .forward = {}, .backward = {}});
    return units.back();
}

std::string line(const std::string& name,
                 std::size_t width,
                 const PassKernels& all,
                 const std::string& activations) {
    return fmt::format("{:<{}}  {:>8}  {:>10}  {}\n", name, width, format_grouped(all.launches),
                       format_bytes(all.bytes), activations);
}

/// Adjacent rows with equal values: the first of them and their common name.
struct Group {
    std::string name;
    const UnitKernels* first;
};

std::vector<Group> groups_of(const std::vector<UnitKernels>& units) {
    std::vector<Group> groups;
    for (std::size_t first = 0, next = 0; first < units.size(); first = next) {
        const auto is_same = [&](const UnitKernels& other) {
            return other.forward == units[first].forward && other.backward == units[first].backward;
        };
        for (next = first + 1; next < units.size() && is_same(units[next]); ++next) {}
        const bool is_one = next == first + 1;
        groups.push_back(
            {units[first].unit + (is_one ? "" : " to " + units[next - 1].unit + ", each"), &units[first]});
    }
    return groups;
}

std::string as_json(const PassKernels& kernels) {
    return fmt::format(R"({{"launches":{},"moved_B":{}}})", kernels.launches, kernels.bytes);
}

}  // namespace

KernelTable kernel_table(const spec::RunSpec& spec,
                         const schedule::ModelLayout& model,
                         const schedule::Program& program) {
    const KernelTraffic traffic{spec, model, program};
    KernelTable table{.activation_bytes = model.tokens * spec.model.hidden * model.element_bytes,
                      .units = {},
                      .optimizer = {},
                      .step = {}};
    for (const auto& op : program.ops) {
        const auto kernels = traffic.of(op);
        add(table.step, kernels);
        if (op.microbatch == 0 && op.unit >= 0 && !kernels.empty()) {
            auto& unit = entry(table.units, model.table.units.at(op.unit).name);
            // The head computes its loss and the gradient together.
            const bool is_forward = op.direction == Direction::forward || op.direction == Direction::none;
            add(is_forward ? unit.forward : unit.backward, kernels);
        } else if (op.kind == schedule::OpKind::update || op.kind == schedule::OpKind::norm) {
            add(table.optimizer, kernels);
        }
    }
    return table;
}

std::string print_kernel_table(const KernelTable& table) {
    const auto in_activations = [&](std::int64_t bytes) {
        return static_cast<double>(bytes) / static_cast<double>(table.activation_bytes);
    };
    const auto groups = groups_of(table.units);
    std::size_t width = std::string_view{"optimizer, each step"}.size();
    for (const auto& group : groups) {
        width = std::max(width, group.name.size());
    }
    std::string text = fmt::format(
        "\nkernels on a GPU, of the first micro-batch; 1 activation = {} (tokens x hidden x bytes of the "
        "compute type). A call of cuBLASLt\nor cuDNN counts as one launch; bytes are those of kernels other "
        "than products and attention.\n{:<{}}  {:>8}  {:>10}  activations: forward  backward  total\n",
        format_bytes(table.activation_bytes), "unit", width, "launches", "bytes");
    for (const auto& [name, unit] : groups) {
        text += line(name, width, {unit->launches(), unit->bytes()},
                     fmt::format("{:>20.1f}  {:>8.1f}  {:>5.1f}", in_activations(unit->forward.bytes),
                                 in_activations(unit->backward.bytes), in_activations(unit->bytes())));
    }
    return text + line("optimizer, each step", width, table.optimizer, "") +
           line("all of a step", width, table.step, "");
}

std::string kernel_table_as_json(const KernelTable& table) {
    std::string units;
    for (const auto& unit : table.units) {
        units += fmt::format(R"({}{{"unit":"{}","forward":{},"backward":{}}})", units.empty() ? "" : ",",
                             unit.unit, as_json(unit.forward), as_json(unit.backward));
    }
    return fmt::format(R"("kernels":{{"activation_B":{},"units":[{}],"optimizer":{},"step":{}}})",
                       table.activation_bytes, units, as_json(table.optimizer), as_json(table.step));
}

}  // namespace ziggurat::plan
