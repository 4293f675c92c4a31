/// ProductTuner: choice among the algorithms that a GPU's library offers for a matrix product.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "device/stream.hpp"

namespace ziggurat::kernels {

/// The algorithm of each product: its position in the list of the library, which begins with 0.
///
/// The key is the product in text: shapes, types and epilogue.
using ProductChoices = std::map<std::string, int>;

/// Chooses the algorithms of the products on one GPU.
///
/// Numerics: algorithms add in different orders, so a choice changes bits, and two measurements can choose
///           differently. Ranks that must agree exchange choices(), and a run that resumes passes them to
///           measure().
class ProductTuner {
  public:
    virtual ~ProductTuner() = default;

    /// Returns the names of the library and the GPU.
    ///
    /// If two texts are equal, each product has the same list of algorithms in both.
    virtual std::string library() const = 0;

    /// Sets how products are chosen that are prepared later.
    ///
    /// A product in `known` uses the algorithm given there. For any other product, Stream::load() times the
    /// first algorithms of the library, and the product uses the fastest. Without this call, products use
    /// the library's first algorithm.
    virtual void measure(ProductChoices known) = 0;

    /// Returns the algorithms of the products that were measured or known; empty without measure().
    virtual ProductChoices choices() const = 0;

    /// Replaces the algorithms of prepared products. Ignores products that are not prepared.
    ///
    /// \pre no product is running
    virtual void choose(const ProductChoices& choices) = 0;
};

/// Returns the tuner of the products on the GPU of `stream`; nullptr for the host.
///
/// Errors: Error{resource} if the library cannot be started
std::shared_ptr<ProductTuner> product_tuner(const device::Stream& stream);

}  // namespace ziggurat::kernels
