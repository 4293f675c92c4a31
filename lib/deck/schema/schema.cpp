#include "deck/schema/schema.hpp"

#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {
namespace {

std::vector<Row> all_rows() {
    std::vector<Row> all;
    for (const auto rows : {run_rows(), model_rows(), data_rows(), train_rows(), parallel_rows(),
                            tiers_rows(), overlap_rows(), optimizer_rows(), checkpoint_rows()}) {
        all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
}

}  // namespace

const Schema& deck_schema() {
    static const std::vector<Row> rows = all_rows();
    static const Schema the_schema{rows, "the deck"};
    return the_schema;
}

}  // namespace ziggurat::deck
