#include "app/bench/peak_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/text/json_depth.hpp"
#include "deck/machine/measured_machine.hpp"
#include "storage/directory.hpp"

namespace ziggurat::app {
namespace {

constexpr const char* schema = "ziggurat.peaks/2";
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
    for (const auto& [setup, peak] : json["peaks"].items()) {
        const auto flops = peak.is_object() ? peak.value("flops", nlohmann::json{}) : nlohmann::json{};
        const auto with = peak.is_object() ? peak.value("measured_with", nlohmann::json{}) : nlohmann::json{};
        if (flops.is_number() && std::isfinite(flops.get<double>()) && flops.get<double>() > 0 &&
            with.is_string()) {
            peaks[setup] = {flops.get<double>(), with.get<std::string>()};
        }
    }
    return peaks;
}

std::string write_peaks(const Peaks& peaks) {
    auto by_setup = nlohmann::ordered_json::object();
    for (const auto& [setup, peak] : peaks) {
        by_setup[setup] = {{"flops", peak.flops}, {"measured_with", peak.measured_with}};
    }
    const nlohmann::ordered_json json{
        {"schema", schema},
        {"about", "best FLOP/s of a rank's products that ziggurat train has seen here; may be removed"},
        {"peaks", std::move(by_setup)}};
    return json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

PeakCache::PeakCache(const deck::Environment& environment, std::string measured_with)
    : measured_with_{std::move(measured_with)} {
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
    return known == peaks.end() || known->second.measured_with != measured_with_ ? 0 : known->second.flops;
}

void PeakCache::raise(const std::string& setup, double flops) const {
    auto peaks = read();
    if (path_.empty() || !(flops > of(setup)) || !std::isfinite(flops)) {
        return;
    }
    peaks[setup] = {flops, measured_with_};
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
