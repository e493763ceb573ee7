//! Recipes and what they make of tables.

use super::*;
