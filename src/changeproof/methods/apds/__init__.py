"""AP-Delta-S."""
