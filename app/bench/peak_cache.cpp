#include "app/bench/peak_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "base/text/json_depth.hpp"
#include "deck/machine/measured_machine.hpp"
#include "storage/directory.hpp"

namespace ziggurat::app {
namespace {

constexpr const char* schema = "ziggurat.peaks/1";
constexpr std::int64_t max_bytes = 1 << 20;
constexpr int max_levels = 4;

}  // namespace

std::string setup_name(const spec::RunSpec& run) {
    const bool is_on_gpus = run.tiers.device == spec::DeviceKind::cuda;
    const char* type = run.precision.compute == spec::DType::bf16 ? "bf16" : "fp32";
    return is_on_gpus ? fmt::format("{} on a GPU", type)
                      : fmt::format("{} on host, {} ranks x {} threads a node", type,
                                    run.parallel.ranks_per_node, run.parallel.threads);
}

Peaks read_peaks(const std::string& text) {
    Peaks peaks;
    if (is_json_deeper(text, max_levels)) {
        return peaks;
    }
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object() || json.value("schema", nlohmann::json{}) != schema || !json.contains("peaks") ||
        !json["peaks"].is_object()) {
        return peaks;
    }
    for (const auto& [setup, flops] : json["peaks"].items()) {
        if (flops.is_number() && std::isfinite(flops.get<double>()) && flops.get<double>() > 0) {
            peaks[setup] = flops.get<double>();
        }
    }
    return peaks;
}

std::string write_peaks(const Peaks& peaks) {
    const nlohmann::ordered_json json{
        {"schema", schema},
        {"about", "best FLOP/s of a rank's products that ziggurat train has seen here; may be removed"},
        {"peaks", peaks}};
    return json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

PeakCache::PeakCache(const deck::Environment& environment) {
    const auto machine_file = deck::measured_file(environment);
    path_ = machine_file.empty()
                ? ""
                : std::filesystem::path{machine_file}.replace_extension(".peaks.json").string();
}

Peaks PeakCache::read() const {
    try {
        const auto text = path_.empty() ? std::nullopt : storage::read_small_file(path_, max_bytes);
        return text ? read_peaks(*text) : Peaks{};
    } catch (const Error&) {
        return {};
    }
}

double PeakCache::of(const std::string& setup) const {
    const auto peaks = read();
    const auto known = peaks.find(setup);
    return known == peaks.end() ? 0 : known->second;
}

void PeakCache::raise(const std::string& setup, double flops) const {
    auto peaks = read();
    if (path_.empty() || !(flops > peaks[setup]) || !std::isfinite(flops)) {
        return;
    }
    peaks[setup] = flops;
    const auto folder = std::filesystem::path{path_}.parent_path();
    std::error_code problem;
    if (!std::filesystem::is_directory(folder.parent_path(), problem)) {
        return;
    }
    std::filesystem::create_directory(folder, problem);
    const auto written = fmt::format("{}.{}", path_, ::getpid());
    try {
        storage::write_small_file(written, write_peaks(peaks));
        storage::rename_path(written, path_);
    } catch (const Error&) {
        std::filesystem::remove(written, problem);
    }
}

}  // namespace ziggurat::app
