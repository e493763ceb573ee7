mod agreement;
mod edges;
mod norm;
mod relax;
