/// Parser of the lines of a metrics.jsonl.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "plot/history.hpp"
#include "plot/source_shares.hpp"

namespace ziggurat::plot {

/// Adds the lines of one metrics.jsonl to a history, in the order of the file.
class HistoryLines {
  public:
    /// Returns false if `line` is not an event of a run.
    bool add(History& history, const std::string& line);

  private:
    void add_shares(History& history, const nlohmann::json& event, std::int64_t step);

    SourceShares shares_ = {};
    double latest_time_ = 0;  ///< time of the job's previous step or of its start; 0: unknown
    double elapsed_s_ = 0;    ///< total of all jobs up to the previous step
};

}  // namespace ziggurat::plot
