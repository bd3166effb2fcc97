// SPDX-License-Identifier: Apache-2.0
// cc_cxx.cc - C++: exceptions through many frames, virtual functions, operator new, containers.
#include <cstdio>
#include <fathom/markers.h>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual int corners() const = 0;
};
struct Square : Shape {
    int corners() const override { return 4; }
};
struct Triangle : Shape {
    int corners() const override { return 3; }
};

static int unwound;
struct Guard {
    ~Guard() { unwound++; }
};

__attribute__((noinline)) static int fall(int depth)
{
    Guard guard;
    if (depth == 0) throw std::runtime_error("bottom");
    return fall(depth - 1) + 1;
}

__attribute__((noinline)) static void fill(std::vector<int> &numbers)
{
    for (std::size_t i = 0; i < numbers.size(); i++) numbers.data()[i] = (int)i;
}

int main()
{
    int caught = 0;
    for (int i = 0; i < 20; i++) {
        try {
            fall(10);
        } catch (const std::exception &) {
            caught++;
        }
    }
    try {
        // Fails, and leaves operator new by an exception.
        volatile std::size_t most = static_cast<std::size_t>(-1) / 4;
        ::operator delete(::operator new(most));
    } catch (const std::bad_alloc &) {
        caught++;
    }
    int corners = 0;
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 50; i++) {
        if (i % 2)
            shapes.emplace_back(new Square);
        else
            shapes.emplace_back(new Triangle);
    }
    for (const auto &shape : shapes) corners += shape->corners();
    std::vector<int> numbers(1000);
    FATHOM_BEGIN("fill");
    fill(numbers);
    FATHOM_END;
    std::string text;
    for (int i = 0; i < 100; i++) text += "word ";
    std::printf("%d %d %d %zu\n", caught, unwound, corners, text.size());
    return 0;
}
