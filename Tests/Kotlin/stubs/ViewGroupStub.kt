package android.view

class ViewGroup
