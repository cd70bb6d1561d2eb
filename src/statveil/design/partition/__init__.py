"""Bins of any width along one parameter: the dynamic programme and the greedy rule."""
