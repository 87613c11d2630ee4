package androidx.fragment.app

import android.os.Bundle
import android.view.View
import androidx.lifecycle.LifecycleOwner
import androidx.lifecycle.ViewModel

open class Fragment {
    val viewLifecycleOwner: LifecycleOwner get() = throw NotImplementedError()
    open fun onViewCreated(view: View, savedInstanceState: Bundle?) = Unit
}

inline fun <reified Model : ViewModel> Fragment.viewModels(): Lazy<Model> = throw NotImplementedError("${Model::class}")
