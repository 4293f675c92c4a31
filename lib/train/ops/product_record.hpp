/// ProductRecord: the algorithms of the products of a run, equal on all ranks and in all its jobs.
#pragma once

#include <map>
#include <string>

#include "comm/context.hpp"
#include "kernels/product_tuner.hpp"

namespace ziggurat::train {

/// The algorithms of products for each library and GPU, see kernels::ProductTuner.
using ProductRecord = std::map<std::string, kernels::ProductChoices>;

/// Name of the file in the run directory that has the record.
inline constexpr const char* product_record_file = "products.json";

std::string to_json(const ProductRecord& record);

/// Parses the text of products.json.
///
/// Errors: Error{deck} with `path` and a remedy, if it is damaged
ProductRecord parse_product_record(const std::string& text, const std::string& path);

/// Makes all ranks use the same algorithms, and returns those of all ranks with those of `known`.
///
/// For a product, the first rank that has it decides.
///
/// \param tuner  nullptr on a rank that computes on the host
/// Collective: over `world`, between steps
ProductRecord agree_on_products(const comm::Context& world,
                                kernels::ProductTuner* tuner,
                                const ProductRecord& known);

}  // namespace ziggurat::train
