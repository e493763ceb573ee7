mod agreement;
mod edges;
mod norm;
