#include "app/sweep/sweep_record.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/output/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "deck/files/shipped_files.hpp"
#include "storage/directory.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* record_name = "sweep.json";
constexpr std::int64_t max_record_bytes = 1 << 20;

}  // namespace

Sweep begin_sweep(const std::string& deck, const std::vector<std::string>& words, const std::string& folder) {
    auto path = deck::file_or_shipped(deck);
    std::error_code unreadable;
    if (fs::exists(path, unreadable)) {
        path = fs::absolute(path).lexically_normal().string();
    }
    return {.deck = path,
            .words = words,
            .ranks = {},
            .launch = {},
            .folder = folder,
            .started_in = fs::current_path().string()};
}

bool is_sweep_folder(const std::string& path) {
    std::error_code unreadable;
    return fs::is_regular_file(fs::path{path} / record_name, unreadable);
}

Sweep read_sweep(const std::string& folder) {
    const auto path = (fs::path{folder} / record_name).string();
    const auto text = storage::read_small_file(path, max_record_bytes);
    const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
    try {
        Sweep sweep{.deck = json.at("deck"),
                    .words = json.at("words"),
                    .ranks = {},
                    .launch = json.at("launch"),
                    .folder = fs::absolute(folder).lexically_normal().string(),
                    .started_in = json.at("started_in")};
        if (!json.at("ranks").is_null()) {
            sweep.ranks = json.at("ranks").get<int>();
        }
        return sweep;
    } catch (const nlohmann::json::exception&) {
        throw Error{ErrorKind::deck,
                    fmt::format("'{}' is not the record of a sweep. Start the sweep with its deck "
                                "and values again.",
                                printable(path))};
    }
}

void write_sweep(const Sweep& sweep) {
    nlohmann::ordered_json json{{"deck", sweep.deck},
                                {"words", sweep.words},
                                {"ranks", nullptr},
                                {"launch", sweep.launch},
                                {"started_in", sweep.started_in}};
    if (sweep.ranks) {
        json["ranks"] = *sweep.ranks;
    }
    std::error_code failed;
    fs::create_directories(sweep.folder, failed);
    write_file_atomically((fs::path{sweep.folder} / record_name).string(), json.dump(2) + "\n",
                          "Name a folder that can be written: --folder FOLDER.");
}

std::vector<std::string> words_of_run(const Sweep& sweep, const SweepGrid& grid, const SweepRun& run) {
    auto words = grid.overrides_of(run);
    words.push_back("run.dir=" + (fs::path{sweep.folder} / run.name).string());
    words.push_back("run.name=" + run.name);
    words.push_back("run.resume=auto");
    return words;
}

}  // namespace ziggurat::app
